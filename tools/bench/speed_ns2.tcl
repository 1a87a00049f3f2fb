# SPDX-License-Identifier: GPL-2.0
# The network of speed.py in ns-2 (2.35), with CUBIC of Linux (Agent/TCP/Linux).
# ns speed_ns2.tcl FLOWS RATE_MBIT DURATION_S RECORD prints the Mbit/s of data that arrived.
# RECORD 1: every event of the bottleneck's queue, and each window ten times a second.
set flows [lindex $argv 0]
set mbit [lindex $argv 1]
set duration_s [lindex $argv 2]
set record [lindex $argv 3]
set delay_ms 20
set bdp_pkts [expr int($mbit * 1e6 * 2 * $delay_ms / 1e3 / 8 / 1500)]

# 1448 bytes of data and 52 of headers
Agent/TCP set packetSize_ 1500
Agent/TCP set window_ 1000000
Agent/TCP set windowInit_ 10
Agent/TCP set timestamps_ true
Agent/TCP set tcpTick_ 0.001
set ns [new Simulator]
$ns rtproto Static
set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right ${mbit}Mb ${delay_ms}ms DropTail
$ns queue-limit $left $right $bdp_pkts
for {set i 0} {$i < $flows} {incr i} {
	set s($i) [$ns node]
	set d($i) [$ns node]
	$ns duplex-link $s($i) $left [expr 10 * $mbit]Mb 0ms DropTail
	$ns duplex-link $right $d($i) [expr 10 * $mbit]Mb 0ms DropTail
	$ns queue-limit $s($i) $left 100000
	$ns queue-limit $right $d($i) 100000
	set tcp($i) [new Agent/TCP/Linux]
	set sink($i) [new Agent/TCPSink/Sack1/DelAck]
	$sink($i) set ts_echo_rfc1323_ true
	$ns attach-agent $s($i) $tcp($i)
	$ns attach-agent $d($i) $sink($i)
	$ns connect $tcp($i) $sink($i)
	$ns at 0 "$tcp($i) select_ca cubic"
	set ftp($i) [new Application/FTP]
	$ftp($i) attach-agent $tcp($i)
	$ns at [expr $i * 0.001] "$ftp($i) start"
}
if {$record} {
	set events [open record.tr w]
	set windows [open windows.tr w]
	$ns trace-queue $left $right $events
	proc sample {} {
		global ns tcp flows windows
		set now [$ns now]
		for {set i 0} {$i < $flows} {incr i} {
			puts $windows "$now $i [$tcp($i) set cwnd_]"
		}
		$ns at [expr $now + 0.1] sample
	}
	$ns at 0.1 sample
}
proc finish {} {
	global flows tcp duration_s record ns
	set pkts 0
	for {set i 0} {$i < $flows} {incr i} {
		incr pkts [expr [$tcp($i) set ack_] + 1]
	}
	if {$record} {
		$ns flush-trace
	}
	puts [expr $pkts * 1448 * 8 / $duration_s / 1e6]
	exit 0
}
$ns at $duration_s finish
$ns run
