# SPDX-License-Identifier: MIT OR Apache-2.0
#
# A TCP dumbbell in ns-2, and one line of JSON about it.
#
#   src_i --access--> r1 --bottleneck--> r2 --access--> dst_i        i = 0 … flows-1
#
#   ns dumbbell.tcl flows 10 rate_mbps 100 rtts_ms 40 buffer 334 duration 100
#
# Arguments are pairs of key and value; the keys, with their units, are those of `opt` below.
# A packet has 1500 bytes on the wire: 1460 of payload and 40 of headers. Every packet is acknowledged.
# ns-2 counts the packet in transmission as one of the `buffer` packets.

array set opt {
    flows         10
    rate_mbps     100
    access_mbps   1000
    one_way_ms    10
    rtts_ms       40
    buffer        334
    duration      100
    warmup        0
    stagger_ms    auto
    sender        Newreno
    scheduler     Calendar
    min_rto       0.2
    initial_rto   3.0
    initial_window 2
    limited_transmit 0
    impatient     1
    overhead_ms   0
    loss          0
    dark_every    0
    dark          0.2
    seed          1
    transfer      0
    monitor       0
    alpha         1
    beta          0.5
    queue         DropTail
    red_thresh    0
    red_maxthresh 0
    red_weight    0.002
    red_max_p     0.1
    red_wait      1
    red_gentle    1
    red_bytes     0
}
# flows            number of flows
# rate_mbps        rate of the bottleneck, Mbit/s
# access_mbps      rate of each private access link, Mbit/s
# one_way_ms       propagation delay of the bottleneck, ms
# rtts_ms          round-trip propagation of the flows, ms, taken in turn: "30 130 10 180"
# buffer           packets at the bottleneck, the one in transmission among them
# duration, warmup s; goodput and queue count from `warmup` on
# stagger_ms       flow i starts at i * stagger; auto: first RTT / flows
# sender           Newreno | Reno | Sack1 | Vegas, or one of Linux' as Linux/veno, Linux/westwood, Linux/vegas
# scheduler        Calendar | Splay | Heap | List
# min_rto, initial_rto, initial_window       s, s, packets
# limited_transmit 1: RFC 3042
# impatient        1: only the first partial ACK restarts the retransmission timer (RFC 6582)
# overhead_ms      what a sender may send waits a uniform time in [0, overhead], and all that it may send by then goes with it
# loss             probability that the bottleneck loses a data packet
# dark_every, dark s; after each `dark_every` the bottleneck loses all data packets for `dark`; 0: never
# transfer         packets a flow sends; 0: no end
# alpha, beta      of TCP(α, β), for Newreno and Reno
# monitor          1: integrate the bottleneck's queue (slower, so never in a timed run)
# queue            DropTail | RED, of the bottleneck towards the receivers
# red_thresh, red_maxthresh, red_weight, red_max_p, red_wait, red_gentle, red_bytes     thresholds in packets; 0: ns-2's own

if {[llength $argv] % 2} { error "arguments are pairs: key value" }
source [file join [file dirname [info script]] arguments.tcl]
if {$opt(stagger_ms) eq "auto"} {
    set opt(stagger_ms) [expr {double([lindex $opt(rtts_ms) 0]) / $opt(flows)}]
}

set header 40
set payload 1460
set wire [expr {$header + $payload}]
set unlimited 1000000

Agent/TCP set window_ $unlimited
Agent/TCP set packetSize_ $payload
Agent/TCP set tcpip_base_hdr_size_ $header
Agent/TCP set windowInit_ $opt(initial_window)
Agent/TCP set minrto_ $opt(min_rto)
Agent/TCP set rtxcur_init_ $opt(initial_rto)
Agent/TCP set tcpTick_ 0.001
Agent/TCP set singledup_ $opt(limited_transmit)
Agent/TCP set overhead_ [expr {$opt(overhead_ms) / 1e3}]
Agent/TCP set increase_num_ $opt(alpha)
Agent/TCP set decrease_num_ $opt(beta)
Agent/TCP/Newreno set newreno_changes1_ $opt(impatient)

# ns-2 clears every header it knows for every packet; these are the ones in use.
remove-all-packet-headers
add-packet-header Flags IP TCP

set ns [new Simulator]
$ns use-scheduler $opt(scheduler)
ns-random $opt(seed)

# ns-2's own static routing takes time by the cube and memory by the square of the number of nodes.
$ns rtproto Manual
proc route {node to {default ""}} { eval [$node get-module Manual] add-route-to-adj-node $default $to }

lassign [split $opt(sender) /] kind law
# Agent/TCP/Vegas keeps an entry a segment of the window limit.
if {$kind eq "Vegas"} { Agent/TCP set window_ 1000 }

set r1 [$ns node]
set r2 [$ns node]
Queue/RED set thresh_ $opt(red_thresh)
Queue/RED set maxthresh_ $opt(red_maxthresh)
Queue/RED set q_weight_ $opt(red_weight)
Queue/RED set linterm_ [expr {1.0 / $opt(red_max_p)}]
Queue/RED set wait_ $opt(red_wait)
Queue/RED set gentle_ $opt(red_gentle)
Queue/RED set bytes_ $opt(red_bytes)
Queue/RED set queue_in_bytes_ $opt(red_bytes)
Queue/RED set mean_pktsize_ $wire
foreach {a b queue} [list $r1 $r2 $opt(queue) $r2 $r1 DropTail] {
    $ns simplex-link $a $b [expr {$opt(rate_mbps) * 1e6}] [expr {$opt(one_way_ms) / 1e3}] $queue
}
$ns queue-limit $r1 $r2 $opt(buffer)
$ns queue-limit $r2 $r1 $unlimited
route $r1 $r2 -default
route $r2 $r1 -default

if {$opt(loss) > 0 || $opt(dark_every) > 0} {
    set draw [new RandomVariable/Uniform]
    $draw set min_ 0
    $draw set max_ 1
    set errors [new ErrorModel]
    $errors unit pkt
    $errors set rate_ $opt(loss)
    $errors ranvar $draw
    $errors drop-target [new Agent/Null]
    $ns link-lossmodel $errors $r1 $r2
    for {set t $opt(dark_every)} {$opt(dark_every) > 0 && $t < $opt(duration)} {set t [expr {$t + $opt(dark_every)}]} {
        $ns at $t "$errors set rate_ 1"
        $ns at [expr {$t + $opt(dark)}] "$errors set rate_ $opt(loss)"
    }
}

for {set i 0} {$i < $opt(flows)} {incr i} {
    set rtt_ms [lindex $opt(rtts_ms) [expr {$i % [llength $opt(rtts_ms)]}]]
    # Beyond the bottleneck's own propagation, a quarter of the rest lies in each of the four crossings.
    set access_s [expr {($rtt_ms - 2.0 * $opt(one_way_ms)) / 4e3}]
    set src [$ns node]
    set dst [$ns node]
    foreach {a b} [list $src $r1 $r2 $dst] {
        $ns duplex-link $a $b [expr {$opt(access_mbps) * 1e6}] $access_s DropTail
        $ns queue-limit $a $b $unlimited
        $ns queue-limit $b $a $unlimited
    }
    route $src $r1 -default
    route $r1 $src
    route $dst $r2 -default
    route $r2 $dst
    set tcp($i) [new Agent/TCP/$kind]
    set sink($i) [new Agent/TCPSink[expr {$kind in {Sack1 Linux} ? "/Sack1" : ""}]]
    if {$kind eq "Linux"} { $ns at 0 "$tcp($i) select_ca $law" }
    $tcp($i) set fid_ $i
    $ns attach-agent $src $tcp($i)
    $ns attach-agent $dst $sink($i)
    $ns connect $tcp($i) $sink($i)
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($i)
    set start [expr {$i * $opt(stagger_ms) / 1e3}]
    if {$opt(transfer) > 0} {
        $ns at $start "$ftp produce $opt(transfer)"
        $tcp($i) proc done {} "record-finish $i"
    } else {
        $ns at $start "$ftp start"
    }
    set finish($i) null
}

proc record-finish {i} {
    global ns finish
    set finish($i) [$ns now]
}

if {$opt(monitor)} {
    set queue [$ns monitor-queue $r1 $r2 [open /dev/null w] 1e9]
}

# What has been counted so far at the bottleneck: packet-seconds waiting, departures, drops.
proc queue-totals {} {
    global queue
    set integral [$queue get-pkts-integrator]
    $integral newpoint [[Simulator instance] now] [$integral set lasty_]
    return [list [$integral set sum_] [$queue set pdepartures_] [$queue set pdrops_]]
}

# Bytes delivered in order, headers included. The sink's counter wraps at 32 bits; the sender's says how often.
proc bytes-at-sink {i} {
    global tcp sink wire
    set counted [expr {[$sink($i) set bytes_] & 0xffffffff}]
    set acknowledged [expr {double([$tcp($i) set ack_]) * $wire}]
    return [expr {$counted + (round(($acknowledged - $counted) / pow(2, 32)) << 32)}]
}

proc begin-measuring {} {
    global opt tcp bytes_base timeouts_base retransmits_base queue_base
    for {set i 0} {$i < $opt(flows)} {incr i} {
        set bytes_base($i) [bytes-at-sink $i]
        set timeouts_base($i) [$tcp($i) set nrexmit_]
        set retransmits_base($i) [$tcp($i) set nrexmitpack_]
    }
    if {$opt(monitor)} { set queue_base [queue-totals] }
}

proc report {} {
    global opt tcp finish payload wire bytes_base timeouts_base retransmits_base queue_base
    set span [expr {$opt(duration) - $opt(warmup)}]
    set total 0
    set timeouts 0
    set retransmits 0
    set goodputs {}
    set finishes {}
    for {set i 0} {$i < $opt(flows)} {incr i} {
        set packets [expr {round(([bytes-at-sink $i] - $bytes_base($i)) / double($wire))}]
        incr total $packets
        incr timeouts [expr {[$tcp($i) set nrexmit_] - $timeouts_base($i)}]
        incr retransmits [expr {[$tcp($i) set nrexmitpack_] - $retransmits_base($i)}]
        lappend goodputs [format %.1f [expr {$packets * $payload * 8.0 / $span}]]
        lappend finishes $finish($i)
    }
    # Little's law, with the packet's own transmission added: the time from arrival to the last bit out.
    # What the error model takes never leaves the monitor, so with losses there is no figure.
    set delay null
    set drops null
    if {$opt(monitor) && $opt(loss) == 0 && $opt(dark_every) == 0} {
        foreach {integral departures lost} [queue-totals] {integral0 departures0 lost0} $queue_base {}
        set waiting [expr {($integral - $integral0) / ($departures - $departures0)}]
        set delay [format %.8f [expr {$waiting + $wire * 8.0 / ($opt(rate_mbps) * 1e6)}]]
        set drops [expr {int($lost - $lost0)}]
    }
    puts [format {{"peer": "ns-2", "delivered_packets": %d, "goodput_bps": %.1f, "mean_queue_delay_s": %s, "drops": %s, "retransmits": %d, "timeouts": %d, "flow_goodput_bps": [%s], "finish_s": [%s]}} \
        $total [expr {$total * $payload * 8.0 / $span}] $delay $drops $retransmits $timeouts \
        [join $goodputs ", "] [join $finishes ", "]]
    exit 0
}

$ns at $opt(warmup) begin-measuring
$ns at $opt(duration) report
$ns run
