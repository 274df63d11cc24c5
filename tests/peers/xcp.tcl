# SPDX-License-Identifier: MIT OR Apache-2.0
#
# One XCP flow over a wire in ns-2, and one line of JSON about it.
#
#   src --1 Gbit/s--> r1 --bottleneck, XCP--> r2 --1 Gbit/s--> dst
#
#   ns xcp.tcl rate_mbps 5 told_mbps 10 rtt_ms 80 buffer 50
#
# 1340-byte packets, 1300 of them payload; timestamps, 12 bytes more; limited transmit; ACKs are not lost.
# rate_mbps, told_mbps   the bottleneck's rate, and what its router is told, Mbit/s
# rtt_ms                 propagation, both ways, ms
# buffer                 packets
# loss                   probability that the bottleneck loses a data packet
# duration, warmup       s; counts are from `warmup` on

array set opt { rate_mbps 5 told_mbps 5 rtt_ms 80 buffer 50 loss 0 duration 600 warmup 10 seed 1 }
source [file join [file dirname [info script]] .. .. bench peers arguments.tcl]

Agent/TCP set packetSize_ 1300
Agent/TCP set tcpip_base_hdr_size_ 40
Agent/TCP set ts_option_size_ 12
Agent/TCP set window_ 1000000
Agent/TCP set windowInit_ 2
Agent/TCP set minrto_ 0.2
Agent/TCP set tcpTick_ 0.001
Agent/TCP set rtxcur_init_ 3.0
Agent/TCP set singledup_ 1
Agent/TCP/Reno/XCP set timestamps_ 1
Queue/XCP set tcp_xcp_on_ 0

set ns [new Simulator]
ns-random $opt(seed)
foreach name {src r1 r2 dst} { set $name [$ns node] }
set rate [expr {$opt(rate_mbps) * 1e6}]
set one_way "[expr {$opt(rtt_ms) / 2.0 - 0.2}]ms"
$ns duplex-link $src $r1 1Gb 0.1ms DropTail
$ns duplex-link $r2 $dst 1Gb 0.1ms DropTail
$ns simplex-link $r1 $r2 $rate $one_way XCP
$ns simplex-link $r2 $r1 $rate $one_way DropTail
$ns queue-limit $src $r1 100000
$ns queue-limit $r1 $r2 $opt(buffer)
$ns queue-limit $r2 $r1 100000
[[$ns link $r1 $r2] queue] set-link-capacity [expr {$opt(told_mbps) * 1e6}]
if {$opt(loss) > 0} {
    set model [new ErrorModel]
    $model unit pkt
    $model set rate_ $opt(loss)
    $model ranvar [new RandomVariable/Uniform]
    $model drop-target [new Agent/Null]
    $ns link-lossmodel $model $r1 $r2
}
set queue [$ns monitor-queue $r1 $r2 ""]

set sender [new Agent/TCP/Reno/XCP]
set sink [new Agent/TCPSink/XCPSink]
$ns attach-agent $src $sender
$ns attach-agent $dst $sink
$ns connect $sender $sink
set application [new Application/FTP]
$application attach-agent $sender

proc counts {} {
    global sender queue
    list [$sender set ack_] [$sender set nrexmitpack_] [$sender set nrexmit_] [$queue set pdrops_]
}
proc begin {} { global first; set first [counts] }
proc finish {} {
    global first opt
    set found {}
    foreach before $first after [counts] { lappend found [expr {$after - $before}] }
    lassign $found packets retransmits timeouts drops
    set goodput [expr {$packets * 1300 * 8.0 / ($opt(duration) - $opt(warmup))}]
    puts "{\"goodput_bps\": $goodput, \"retransmits\": $retransmits, \"timeouts\": $timeouts, \"drops\": $drops}"
    exit 0
}
$ns at 0 "$application start"
$ns at $opt(warmup) begin
$ns at $opt(duration) finish
$ns run
