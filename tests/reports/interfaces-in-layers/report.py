about("A bridge on a bond of two interfaces: each has a line in /proc/net/dev, and counts the same bytes",
      ("https://github.com/netdata/netdata/issues/18185", "https://github.com/htop-dev/htop/issues/1469",
       "https://github.com/iopsystems/rezolus/issues/1184"), start="wrong: the system has received 3 times what came, `ok`",
      repaired="a recording says which devices stand on others; the system has those below")
cpus("1")
put("sys/class/net/bond0/lower_eth0", "")
put("sys/class/net/bond0/lower_eth1", "")
put("sys/class/net/br0/lower_bond0", "")


def net(k):
    return "Inter-| Receive | Transmit\n face |bytes packets|bytes packets\n" + "".join(
        f"{name}: {1000 + n * k} 10 0 0 0 0 0 0 1000 10 0 0 0 0 0 0\n" for name, n in
        (("eth0", 3000), ("eth1", 2000), ("bond0", 5000), ("br0", 5000)))


put("proc/net/dev", net(0))
record("--sources=netdev")
step({"proc/net/dev": net(1)})
expect("--show=netdev.rx_bytes", "netdev.rx_bytes", "device bond0", 5000, "its own line")
expect("--show=netdev.rx_bytes", "netdev.rx_bytes", "system", 5000, "what came in")
