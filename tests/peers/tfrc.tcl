# SPDX-License-Identifier: MIT OR Apache-2.0
#
# TFRC flows through one bottleneck in ns-2, and one line of JSON about them.
#
#   ns tfrc.tcl flows 4 rate_mbps 10 rtt_ms 100 buffer 84 duration 300 warmup 50 seed 1 stagger 1
#
# A packet has 1500 bytes on the wire: 1460 of payload and 40 of headers. `stagger` times RTT/flows lie between the
# starts; each packet's spacing is uniform within ±1 %, so that the flows do not fall in step.

array set opt {flows 4 rate_mbps 10 rtt_ms 100 buffer 84 duration 300 warmup 50 seed 1 stagger 1 damping 1 discount 1}
source [file join [file dirname [info script]] .. .. bench peers arguments.tcl]
Agent/TFRC set packetSize_ 1460
Agent/TFRC set headersize_ 40
Agent/TFRC set overhead_ 0.02
Agent/TFRC set ca_ $opt(damping)
Agent/TFRC set tcp_tick_ 0.001
Agent/TFRCSink set packetSize_ 64
Agent/TFRCSink set discount_ $opt(discount)

set ns [new Simulator]
ns-random $opt(seed)
set r1 [$ns node]
set r2 [$ns node]
$ns duplex-link $r1 $r2 [expr {$opt(rate_mbps) * 1e6}] 1ms DropTail
$ns queue-limit $r1 $r2 $opt(buffer)
$ns queue-limit $r2 $r1 100000
set bottleneck [$ns monitor-queue $r1 $r2 [open /dev/null w] 1e9]
set access_s [expr {($opt(rtt_ms) - 2.0) / 4e3}]
for {set i 0} {$i < $opt(flows)} {incr i} {
    set src [$ns node]
    set dst [$ns node]
    foreach {a b} [list $src $r1 $r2 $dst] {
        $ns duplex-link $a $b 1000Mb $access_s DropTail
        $ns queue-limit $a $b 100000
        $ns queue-limit $b $a 100000
    }
    set exit($i) [$ns monitor-queue $r2 $dst [open /dev/null w] 1e9]
    set tfrc($i) [new Agent/TFRC]
    set sink($i) [new Agent/TFRCSink]
    $ns attach-agent $src $tfrc($i)
    $ns attach-agent $dst $sink($i)
    $ns connect $tfrc($i) $sink($i)
    $ns at [expr {$i * $opt(stagger) * $opt(rtt_ms) / 1e3 / $opt(flows)}] "$tfrc($i) start"
    set samples($i) {}
}

proc sample {} {
    global ns opt exit samples
    for {set i 0} {$i < $opt(flows)} {incr i} { lappend samples($i) [$exit($i) set pdepartures_] }
    $ns at [expr {[$ns now] + 1}] sample
}

proc begin-measuring {} {
    global bottleneck drops_base
    set drops_base [$bottleneck set pdrops_]
}

proc report {} {
    global opt samples bottleneck drops_base
    set goodputs {}
    set covs {}
    for {set i 0} {$i < $opt(flows)} {incr i} {
        set sum 0
        set squares 0
        set n [expr {[llength $samples($i)] - 1}]
        for {set k 0} {$k < $n} {incr k} {
            set packets [expr {[lindex $samples($i) [expr {$k + 1}]] - [lindex $samples($i) $k]}]
            set sum [expr {$sum + $packets}]
            set squares [expr {$squares + double($packets) * $packets}]
        }
        set mean [expr {double($sum) / $n}]
        lappend covs [format %.5f [expr {sqrt($squares / $n - $mean * $mean) / $mean}]]
        lappend goodputs [format %.1f [expr {$mean * 1460 * 8}]]
    }
    puts [format {{"goodput_bps": [%s], "cov": [%s], "drops": %d}} \
        [join $goodputs ", "] [join $covs ", "] [expr {[$bottleneck set pdrops_] - $drops_base}]]
    exit 0
}

$ns at $opt(warmup) begin-measuring
$ns at $opt(warmup) sample
$ns at [expr {$opt(duration) + 1e-6}] report
$ns run
