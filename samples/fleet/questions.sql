-- Which hosts lost more than 5 % since Tuesday's kernel?
select host,
       avg(case when time < '2026-07-21 00:00:00' then value end) as ipc_before,
       avg(case when time >= '2026-07-21 00:00:00' then value end) as ipc_since
from FLEET
where metric = 'insn_per_cycle' and scope = 'system'
group by host
having ipc_since < 0.95 * ipc_before
order by host;

-- How much memory bandwidth does each rack take? (bytes a nanosecond are GB/s; of one host)
select label_rack as rack, sum(value) / sum(duration_ns) as gb_s
from FLEET
where metric = 'memory.read_bytes' and scope = 'system'
group by rack
order by rack;

-- Which hosts throttle?
select host, sum(value) as times
from FLEET
where metric = 'throttle.core' and scope = 'system'
group by host
having times > 0
order by times desc, host;

-- Which build has the worst tail? (99th percentile of the wait for a CPU, in microseconds)
select build, min(value) as p99_us
from (select label_build as build, value,
             row_number() over (partition by label_build order by value) as place,
             count(*) over (partition by label_build) as n
      from FLEET
      where metric = 'sched.wait' and scope = 'cpu' and value is not null) as waits
where place >= 0.99 * n
group by build
order by p99_us desc;

-- Which counters are missing where, and why?
select metric, label_rack as rack, status, count(distinct host) as hosts
from FLEET
where value is null and metric in ('cycles', 'instructions', 'throttle.core', 'memory.read_bytes')
group by metric, rack, status
order by metric, rack, status;
