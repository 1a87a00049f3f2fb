// SPDX-License-Identifier: GPL-2.0
/*
 * The network of speed.py in ns-3 (3.37): N hosts - router - router - N hosts, one bulk
 * flow of TCP CUBIC each. speed_ns3 FLOWS RATE_MBIT DURATION_S RECORD prints the Mbit/s of
 * data that arrived. RECORD 1: the queue and each window at every change, and FlowMonitor.
 */
#include <cstdlib>
#include <fstream>
#include <iostream>
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/flow-monitor-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

static const uint32_t MSS = 1448, BUFFER = 256 << 20;
static const uint16_t PORT = 5000;
static std::ofstream out;

static void queue_changed(uint32_t, uint32_t pkts)
{
	out << "q " << Simulator::Now().GetSeconds() << ' ' << pkts << '\n';
}

static void window_changed(std::string flow, uint32_t, uint32_t bytes)
{
	out << "w " << Simulator::Now().GetSeconds() << ' ' << flow << ' ' << bytes << '\n';
}

/* A window can be followed once its flow has begun. */
static void follow_windows()
{
	Config::Connect("/NodeList/*/$ns3::TcpL4Protocol/SocketList/*/CongestionWindow",
			MakeCallback(&window_changed));
}

static NetDeviceContainer joined(Ptr<Node> a, Ptr<Node> b, double mbit, double delay_ms, uint32_t pkts,
				 Ipv4AddressHelper &addresses, Ipv4InterfaceContainer &interfaces)
{
	PointToPointHelper link;

	link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(mbit * 1e6))));
	link.SetChannelAttribute("Delay", TimeValue(MicroSeconds(static_cast<uint64_t>(delay_ms * 1e3))));
	link.SetQueue("ns3::DropTailQueue", "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, pkts)));
	NetDeviceContainer devices = link.Install(a, b);
	TrafficControlHelper none;
	interfaces = addresses.Assign(devices);
	none.Uninstall(devices);  /* the queue is the device's, as in the lab */
	addresses.NewNetwork();
	return devices;
}

int main(int argc, char **argv)
{
	if (argc != 5)
		return 2;
	const uint32_t flows = atoi(argv[1]);
	const double mbit = atof(argv[2]), duration_s = atof(argv[3]), delay_ms = 20;
	const bool record = atoi(argv[4]);
	const uint32_t bdp_pkts = mbit * 1e6 * 2 * delay_ms / 1e3 / 8 / 1500;

	Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpCubic"));
	Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(MSS));
	Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(BUFFER));
	Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(BUFFER));
	Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));

	NodeContainer routers, senders, receivers;
	routers.Create(2);
	senders.Create(flows);
	receivers.Create(flows);
	InternetStackHelper().InstallAll();
	Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
	Ipv4InterfaceContainer at;
	NetDeviceContainer bottleneck =
		joined(routers.Get(0), routers.Get(1), mbit, delay_ms, std::max(bdp_pkts, 1u), addresses, at);
	ApplicationContainer sinks;
	for (uint32_t i = 0; i < flows; i++) {
		joined(senders.Get(i), routers.Get(0), 10 * mbit, 0, 100000, addresses, at);
		joined(routers.Get(1), receivers.Get(i), 10 * mbit, 0, 100000, addresses, at);
		InetSocketAddress to(at.GetAddress(1), PORT);
		sinks.Add(PacketSinkHelper("ns3::TcpSocketFactory", to).Install(receivers.Get(i)));
		BulkSendHelper bulk("ns3::TcpSocketFactory", to);
		bulk.SetAttribute("SendSize", UintegerValue(MSS));
		ApplicationContainer app = bulk.Install(senders.Get(i));
		app.Start(MilliSeconds(i));
	}
	Ipv4GlobalRoutingHelper::PopulateRoutingTables();
	FlowMonitorHelper monitor;
	if (record) {
		out.open("record");
		DynamicCast<PointToPointNetDevice>(bottleneck.Get(0))->GetQueue()->TraceConnectWithoutContext(
			"PacketsInQueue", MakeCallback(&queue_changed));
		Simulator::Schedule(MilliSeconds(flows + 1), &follow_windows);
		monitor.InstallAll();
	}
	Simulator::Stop(Seconds(duration_s));
	Simulator::Run();
	if (record)
		monitor.SerializeToXmlFile("flows.xml", true, false);
	double bytes = 0;
	for (uint32_t i = 0; i < sinks.GetN(); i++)
		bytes += DynamicCast<PacketSink>(sinks.Get(i))->GetTotalRx();
	std::cout << bytes * 8 / duration_s / 1e6 << std::endl;
	Simulator::Destroy();
	return 0;
}
