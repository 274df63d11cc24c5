# SPDX-License-Identifier: MIT OR Apache-2.0
#
# TCP over an 802.11b WLAN behind a wire in ns-2, and one line of JSON about it.
#
#   host --1 Gbit/s--> base station ))) station_i          i = 0 … down+up-1
#
#   ns wlan.tcl down 1 up 0 rts 0 rtt_ms 40 buffer 100 duration 60 warmup 10
#
# Arguments are pairs of key and value; the keys, with their units, are those of `opt` below. Every flow has a station
# of its own; the first `down` flows go to their stations, the others come from theirs. Every packet is acknowledged.
# All nodes hear each other. The MAC takes a packet out of its queue before it sends it: it is not one of the `buffer`.

array set opt {
    down          1
    up            0
    rts           0
    rate_mbps     11
    rtt_ms        40
    buffer        100
    packet        1300
    duration      60
    warmup        10
    stagger_ms    100
    seed          1
}
# down, up         flows to and from stations
# rts              1: RTS and CTS in front of every data frame
# rate_mbps        rate of data frames, Mbit/s; control frames and preambles take 1 Mbit/s
# rtt_ms           round-trip propagation over the wire, ms
# buffer           packets in the queue of each interface
# packet           bytes of a data packet on the wire, 40 of them headers
# duration, warmup s; goodput counts from `warmup` on
# stagger_ms       flow i starts at 1 s + i * stagger: the routes to the stations are known by then

if {[llength $argv] % 2} { error "arguments are pairs: key value" }
source [file join [file dirname [info script]] arguments.tcl]

set header 40
set payload [expr {$opt(packet) - $header}]
set flows [expr {$opt(down) + $opt(up)}]

Agent/TCP set window_ 1000000
Agent/TCP set packetSize_ $payload
Agent/TCP set tcpip_base_hdr_size_ $header
Agent/TCP set windowInit_ 2
Agent/TCP set minrto_ 0.2
Agent/TCP set rtxcur_init_ 3.0
Agent/TCP set tcpTick_ 0.001
Agent/TCP set singledup_ 0

Mac/802_11 set CWMin_ 31
Mac/802_11 set CWMax_ 1023
Mac/802_11 set SlotTime_ 0.000020
Mac/802_11 set SIFS_ 0.000010
Mac/802_11 set PreambleLength_ 144
Mac/802_11 set PLCPHeaderLength_ 48
Mac/802_11 set PLCPDataRate_ 1.0e6
Mac/802_11 set dataRate_ [expr {$opt(rate_mbps) * 1e6}]
Mac/802_11 set basicRate_ 1.0e6
Mac/802_11 set ShortRetryLimit_ 7
Mac/802_11 set LongRetryLimit_ 4
Mac/802_11 set RTSThreshold_ [expr {$opt(rts) ? 0 : 100000}]

# No capture: frames that overlap are lost, however strong.
Phy/WirelessPhy set CPThresh_ 1e12

set ns [new Simulator]
# Wireless nodes will not be made without a trace file.
$ns trace-all [open /dev/null w]
ns-random $opt(seed)
$ns node-config -addressType hierarchical
AddrParams set domain_num_ 2
lappend clusters 1 1
AddrParams set cluster_num_ $clusters
lappend nodes 1 [expr {$flows + 1}]
AddrParams set nodes_num_ $nodes

set host [$ns node 0.0.0]
set field [new Topography]
$field load_flatgrid 100 100
create-god [expr {$flows + 1}]
set channel [new Channel/WirelessChannel]
$ns node-config -adhocRouting DSDV -llType LL -macType Mac/802_11 -ifqType Queue/DropTail/PriQueue \
    -ifqLen $opt(buffer) -antType Antenna/OmniAntenna -propType Propagation/TwoRayGround \
    -phyType Phy/WirelessPhy -channel $channel -topoInstance $field -wiredRouting ON \
    -agentTrace OFF -routerTrace OFF -macTrace OFF
set base [$ns node 1.0.0]
$base random-motion 0
$base set X_ 50.0; $base set Y_ 50.0; $base set Z_ 0.0
$ns duplex-link $host $base 1000Mb [expr {$opt(rtt_ms) / 2e3}] DropTail
$ns queue-limit $host $base 1000000
$ns queue-limit $base $host 1000000

$ns node-config -wiredRouting OFF
for {set i 0} {$i < $flows} {incr i} {
    set station($i) [$ns node 1.0.[expr {$i + 1}]]
    $station($i) random-motion 0
    $station($i) base-station [AddrParams addr2id [$base node-addr]]
    $station($i) set X_ [expr {50.0 + cos($i)}]
    $station($i) set Y_ [expr {50.0 + sin($i)}]
    $station($i) set Z_ 0.0
    set tcp($i) [new Agent/TCP/Newreno]
    set sink($i) [new Agent/TCPSink]
    $tcp($i) set fid_ $i
    set ends [expr {$i < $opt(down) ? "$host $station($i)" : "$station($i) $host"}]
    $ns attach-agent [lindex $ends 0] $tcp($i)
    $ns attach-agent [lindex $ends 1] $sink($i)
    $ns connect $tcp($i) $sink($i)
    set ftp($i) [new Application/FTP]
    $ftp($i) attach-agent $tcp($i)
    $ns at [expr {1.0 + $i * $opt(stagger_ms) / 1e3}] "$ftp($i) start"
}

proc begin-measuring {} {
    global flows tcp base_ack base_retransmits base_timeouts
    for {set i 0} {$i < $flows} {incr i} {
        set base_ack($i) [$tcp($i) set ack_]
        set base_retransmits($i) [$tcp($i) set nrexmitpack_]
        set base_timeouts($i) [$tcp($i) set nrexmit_]
    }
}

proc report {} {
    global opt flows tcp payload base_ack base_retransmits base_timeouts
    set span [expr {$opt(duration) - $opt(warmup)}]
    set total 0.0
    set retransmits 0
    set timeouts 0
    set goodputs {}
    for {set i 0} {$i < $flows} {incr i} {
        set goodput [expr {([$tcp($i) set ack_] - $base_ack($i)) * $payload * 8.0 / $span}]
        set total [expr {$total + $goodput}]
        incr retransmits [expr {[$tcp($i) set nrexmitpack_] - $base_retransmits($i)}]
        incr timeouts [expr {[$tcp($i) set nrexmit_] - $base_timeouts($i)}]
        lappend goodputs [format %.1f $goodput]
    }
    puts [format {{"peer": "ns-2", "goodput_bps": %.1f, "retransmits": %d, "timeouts": %d, "flow_goodput_bps": [%s]}} \
        $total $retransmits $timeouts [join $goodputs ", "]]
    exit 0
}

$ns at $opt(warmup) begin-measuring
$ns at $opt(duration) report
$ns run
