about("Skylake U whose register of the platform's energy answers, and stays 0",
      ("https://github.com/hubblo-org/windows-rapl-driver/issues/7", "https://github.com/sosy-lab/cpu-energy-meter/issues/25"), start="wrong: 0 J `ok` of a platform whose package took 8 J",
      repaired="Take a register of energy that stays 0 for one that is not there")
cpus("0,2 1,3")
processor("intel", 6, 0x4E)
msr(0x10, 1000, rate="1.0t")
msr(0x606, 0xA0E03)
msr(0x611, 0, width=32)
msr(0x64D, 0, width=32)
record("--sources=msr")
step({0x611: 4 * 2**14}, .3)
step({0x611: 8 * 2**14}, .3)
expect("--Joules", "pkg_j", "system", [4, 4], "the package's register counts")
expect("--Joules --show=Sys_J,Pkg_J --total", "sys_j", "system", "suspect|no-input|not-supported", "a platform that takes less than its package takes no energy at all is not measured, which is not 0 J")
