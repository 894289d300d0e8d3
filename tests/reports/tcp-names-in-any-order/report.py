about("/proc/net/snmp, whose Tcp lines have a negative number (MaxConn -1) and more columns with each kernel",
      ("https://github.com/netdata/netdata/issues/2169", "https://github.com/prometheus/node_exporter/issues/2716"), start="right")
cpus("1")


def snmp(k):
    return (f"Ip: Forwarding InReceives\nIp: 1 {k}\nTcp: RtoAlgorithm RtoMin MaxConn ActiveOpens CurrEstab NewField OutSegs RetransSegs\n"
            f"Tcp: 1 200 -1 {10 + 3 * k} {7 - k} 99 {1000 + 100 * k} {50 + 5 * k}\nUdp: InDatagrams\nUdp: 5\n")


put("proc/net/snmp", snmp(0))
record("--sources=tcp")
step({"proc/net/snmp": snmp(1)})
step({"proc/net/snmp": snmp(2)})
expect("--show=tcp.*", "tcp.retransmitted", "system", [5, 5], "by name, behind the -1 and the unknown column")
expect("--show=tcp.*", "tcp.active_opens", "system", [3, 3], "by name")
expect("--show=tcp.*", "tcp.established", "system", [6, 5], "a level")
expect("--show=Retrans%", "tcp.retransmit_share", "system", [5, 5], "5 of 100 segments")
