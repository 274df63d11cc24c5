// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Routing by one table look-up, for networks whose routes are known when they are built.
//
// ns-3's static routing scans every route and every interface of a router for each packet, which on a
// router with a thousand access links costs a millisecond a packet. A benchmark should not charge
// that to the simulator, so both ends of it are replaced by a hash table of host addresses.

#pragma once

#include "ns3/internet-module.h"
#include "ns3/network-module.h"

#include <unordered_map>
#include <unordered_set>

/// Host routes with a default; delivers what is addressed to any of the node's own addresses.
class HostRouting : public ns3::Ipv4RoutingProtocol
{
  public:
    static ns3::TypeId GetTypeId()
    {
        static ns3::TypeId id = ns3::TypeId("HostRouting")
                                    .SetParent<ns3::Ipv4RoutingProtocol>()
                                    .AddConstructor<HostRouting>();
        return id;
    }

    /// Puts a table on a node that has its internet stack but no addresses yet.
    static ns3::Ptr<HostRouting> Install(ns3::Ptr<ns3::Node> node)
    {
        auto routing = ns3::CreateObject<HostRouting>();
        node->GetObject<ns3::Ipv4>()->SetRoutingProtocol(routing);
        return routing;
    }

    void AddHostRoute(ns3::Ipv4Address host, uint32_t interface)
    {
        m_routes[host.Get()] = MakeRoute(interface);
    }

    void SetDefaultRoute(uint32_t interface)
    {
        m_default = MakeRoute(interface);
    }

    ns3::Ptr<ns3::Ipv4Route> RouteOutput(ns3::Ptr<ns3::Packet> /* packet */,
                                         const ns3::Ipv4Header& header,
                                         ns3::Ptr<ns3::NetDevice> /* device */,
                                         ns3::Socket::SocketErrno& error) override
    {
        error = ns3::Socket::ERROR_NOTERROR;
        return Lookup(header.GetDestination());
    }

    bool RouteInput(ns3::Ptr<const ns3::Packet> packet,
                    const ns3::Ipv4Header& header,
                    ns3::Ptr<const ns3::NetDevice> device,
                    const UnicastForwardCallback& forward,
                    const MulticastForwardCallback& /* multicast */,
                    const LocalDeliverCallback& deliver,
                    const ErrorCallback& /* error */) override
    {
        if (m_own.count(header.GetDestination().Get()))
        {
            deliver(packet, header, m_ipv4->GetInterfaceForDevice(device));
        }
        else
        {
            forward(Lookup(header.GetDestination()), packet, header);
        }
        return true;
    }

    void NotifyAddAddress(uint32_t /* interface */, ns3::Ipv4InterfaceAddress address) override
    {
        m_own.insert(address.GetLocal().Get());
    }

    void SetIpv4(ns3::Ptr<ns3::Ipv4> ipv4) override
    {
        m_ipv4 = ipv4;
    }

    void NotifyInterfaceUp(uint32_t) override
    {
    }

    void NotifyInterfaceDown(uint32_t) override
    {
    }

    void NotifyRemoveAddress(uint32_t, ns3::Ipv4InterfaceAddress) override
    {
    }

    void PrintRoutingTable(ns3::Ptr<ns3::OutputStreamWrapper>, ns3::Time::Unit) const override
    {
    }

  private:
    ns3::Ptr<ns3::Ipv4Route> MakeRoute(uint32_t interface) const
    {
        auto route = ns3::Create<ns3::Ipv4Route>();
        route->SetSource(m_ipv4->GetAddress(interface, 0).GetLocal());
        route->SetOutputDevice(m_ipv4->GetNetDevice(interface));
        route->SetGateway(ns3::Ipv4Address("0.0.0.1")); // never looked at: the links have two ends
        return route;
    }

    ns3::Ptr<ns3::Ipv4Route> Lookup(ns3::Ipv4Address destination) const
    {
        const auto found = m_routes.find(destination.Get());
        return found == m_routes.end() ? m_default : found->second;
    }

    ns3::Ptr<ns3::Ipv4> m_ipv4;
    ns3::Ptr<ns3::Ipv4Route> m_default;
    std::unordered_map<uint32_t, ns3::Ptr<ns3::Ipv4Route>> m_routes;
    std::unordered_set<uint32_t> m_own;
};
