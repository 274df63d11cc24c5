// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A TCP dumbbell in ns-3, and one line of JSON about it; the twin of dumbbell.tcl.
//
//   src_i --access--> r1 --bottleneck--> r2 --access--> dst_i        i = 0 … flows-1
//
// Compiled against the headers and libraries that the PyPI wheel `ns3` ships, so no Python runs in
// the timed process. Differences to dumbbell.tcl: SACK is on (without it ns-3's NewReno loses a third
// of W1's goodput and is no reference), and PPP adds two bytes to a packet, which the rates make good.

#include "host_routing.h"

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint32_t PAYLOAD_BYTES = 1460;
constexpr uint32_t WIRE_BYTES = 1500;
constexpr uint32_t PPP_BYTES = 2;
constexpr uint16_t PORT = 9;
/// More than the whole pipe of W1 and W3 and ten times a flow's share of it in W2 and W4.
constexpr uint32_t SOCKET_BUFFER_BYTES = 1 << 20;

struct Options
{
    uint32_t flows = 10;
    double rateMbps = 100;
    double accessMbps = 1000;
    double oneWayMs = 10;
    std::string rttsMs = "40";
    uint32_t buffer = 334;
    double duration = 100;
    double staggerMs = -1;
    bool sack = true;
    bool monitor = false;
};

/// The time integral of the bottleneck's queue, and what left it. Connected in monitored runs only.
struct QueueMonitor
{
    double packetSeconds = 0;
    uint64_t departures = 0;
    uint64_t drops = 0;
    uint32_t length = 0;
    Time since;

    void Change(uint32_t /* before */, uint32_t after)
    {
        packetSeconds += length * (Simulator::Now() - since).GetSeconds();
        since = Simulator::Now();
        length = after;
    }

    void Depart(Ptr<const Packet>)
    {
        ++departures;
    }

    void Drop(Ptr<const Packet>)
    {
        ++drops;
    }
};

DataRate
WireRate(double mbps)
{
    return DataRate(static_cast<uint64_t>(mbps * 1e6 * (WIRE_BYTES + PPP_BYTES) / WIRE_BYTES + 0.5));
}

/// A link whose two queues hold `packets`, the one in transmission among them, and no queue discipline.
NetDeviceContainer
Connect(Ptr<Node> a, Ptr<Node> b, double mbps, double delayMs, uint32_t packets)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(WireRate(mbps)));
    link.SetChannelAttribute("Delay", TimeValue(Seconds(delayMs / 1e3)));
    link.DisableFlowControl(); // so the queue itself drops, and no queue discipline comes before it
    link.SetQueue("ns3::DropTailQueue", "MaxSize", QueueSizeValue(QueueSize(PACKETS, packets - 1)));
    return link.Install(a, b);
}

Ipv4InterfaceContainer
AssignAddresses(const NetDeviceContainer& devices, const std::string& network)
{
    Ipv4AddressHelper addresses(network.c_str(), "255.255.255.252");
    return addresses.Assign(devices);
}

std::string
Network(int side, uint32_t flow)
{
    std::ostringstream text;
    text << "10." << side << "." << flow / 64 << "." << flow % 64 * 4;
    return text.str();
}

std::vector<double>
ParseList(const std::string& text)
{
    std::vector<double> values;
    std::istringstream stream(text);
    for (std::string item; std::getline(stream, item, ',');)
    {
        values.push_back(std::stod(item));
    }
    return values;
}

} // namespace

int
main(int argc, char* argv[])
{
    Options o;
    CommandLine cmd;
    cmd.AddValue("flows", "number of flows", o.flows);
    cmd.AddValue("rate_mbps", "rate of the bottleneck, Mbit/s", o.rateMbps);
    cmd.AddValue("access_mbps", "rate of each private access link, Mbit/s", o.accessMbps);
    cmd.AddValue("one_way_ms", "propagation delay of the bottleneck, ms", o.oneWayMs);
    cmd.AddValue("rtts_ms", "round-trip propagations, ms, taken in turn: 30,130,10,180", o.rttsMs);
    cmd.AddValue("buffer", "packets at the bottleneck, the one in transmission among them", o.buffer);
    cmd.AddValue("duration", "s", o.duration);
    cmd.AddValue("stagger_ms", "flow i starts at i * stagger; below 0: first RTT / flows", o.staggerMs);
    cmd.AddValue("sack", "selective acknowledgements", o.sack);
    cmd.AddValue("monitor", "integrate the bottleneck's queue; never in a timed run", o.monitor);
    cmd.Parse(argc, argv);

    const std::vector<double> rttsMs = ParseList(o.rttsMs);
    const double staggerMs = o.staggerMs < 0 ? rttsMs[0] / o.flows : o.staggerMs;
    const uint32_t unlimited = 1000000;

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(o.sack));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(PAYLOAD_BYTES));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(SOCKET_BUFFER_BYTES));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(SOCKET_BUFFER_BYTES));

    NodeContainer routers(2);
    NodeContainer sources(o.flows);
    NodeContainer sinks(o.flows);

    InternetStackHelper internet;
    internet.SetIpv6StackInstall(false);
    internet.InstallAll();

    // Interface 1 of a router is the bottleneck, and of a host its access link.
    const auto leftRouting = HostRouting::Install(routers.Get(0));
    const auto rightRouting = HostRouting::Install(routers.Get(1));
    NetDeviceContainer bottleneck =
        Connect(routers.Get(0), routers.Get(1), o.rateMbps, o.oneWayMs, o.buffer);
    AssignAddresses(bottleneck, "10.3.0.0");
    leftRouting->SetDefaultRoute(1);
    rightRouting->SetDefaultRoute(1);

    const auto attach = [&](Ptr<Node> router, Ptr<HostRouting> routing, Ptr<Node> host, int side, uint32_t flow) {
        const double delayMs = (rttsMs[flow % rttsMs.size()] - 2 * o.oneWayMs) / 4;
        const auto hostRouting = HostRouting::Install(host);
        const auto devices = Connect(router, host, o.accessMbps, delayMs, unlimited);
        const auto addresses = AssignAddresses(devices, Network(side, flow));
        routing->AddHostRoute(addresses.GetAddress(1), flow + 2);
        hostRouting->SetDefaultRoute(1);
        return addresses.GetAddress(1);
    };

    ApplicationContainer receivers;
    for (uint32_t i = 0; i < o.flows; ++i)
    {
        attach(routers.Get(0), leftRouting, sources.Get(i), 1, i);
        const auto destination = attach(routers.Get(1), rightRouting, sinks.Get(i), 2, i);

        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), PORT));
        receivers.Add(sink.Install(sinks.Get(i)));

        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(destination, PORT));
        bulk.SetAttribute("SendSize", UintegerValue(PAYLOAD_BYTES));
        bulk.Install(sources.Get(i)).Start(Seconds(i * staggerMs / 1e3));
    }

    QueueMonitor monitor;
    if (o.monitor)
    {
        auto queue = DynamicCast<PointToPointNetDevice>(bottleneck.Get(0))->GetQueue();
        queue->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&QueueMonitor::Change, &monitor));
        queue->TraceConnectWithoutContext("Dequeue", MakeCallback(&QueueMonitor::Depart, &monitor));
        queue->TraceConnectWithoutContext("Drop", MakeCallback(&QueueMonitor::Drop, &monitor));
    }

    Simulator::Stop(Seconds(o.duration));
    Simulator::Run();

    uint64_t delivered = 0;
    std::ostringstream goodputs;
    for (uint32_t i = 0; i < o.flows; ++i)
    {
        const uint64_t bytes = DynamicCast<PacketSink>(receivers.Get(i))->GetTotalRx();
        delivered += bytes;
        goodputs << (i ? ", " : "") << static_cast<uint64_t>(bytes * 8 / o.duration);
    }
    std::string delay = "null";
    std::string drops = "null";
    if (o.monitor)
    {
        // Little's law, with the packet's own transmission added, as in dumbbell.tcl.
        monitor.Change(monitor.length, monitor.length);
        delay = std::to_string(monitor.packetSeconds / monitor.departures +
                               WIRE_BYTES * 8 / (o.rateMbps * 1e6));
        drops = std::to_string(monitor.drops);
    }
    std::printf("{\"peer\": \"ns-3\", \"delivered_packets\": %lu, \"goodput_bps\": %.1f, "
                "\"mean_queue_delay_s\": %s, \"drops\": %s, \"flow_goodput_bps\": [%s]}\n",
                delivered / PAYLOAD_BYTES,
                delivered * 8 / o.duration,
                delay.c_str(),
                drops.c_str(),
                goodputs.str().c_str());
    Simulator::Destroy();
    return 0;
}
