package observe

import "github.com/prometheus/client_golang/prometheus"

// LedgerMetrics describes the decision ledger, and the savings that it claims.
type LedgerMetrics struct {
	// Records has label kind.
	Records *prometheus.CounterVec
	// Lost has label reason (encoding, queue_full, write_failed).
	Lost *prometheus.CounterVec
	// MemoryBytes and DiskBytes are the size of the records.
	MemoryBytes, DiskBytes prometheus.Gauge
	// Evicted counts records that are not in memory any more.
	Evicted prometheus.Counter

	// Savings and AddedCost have labels nodepool, reason (in lower case).
	Savings, AddedCost *prometheus.CounterVec
	// Unpriced has labels nodepool, reason.
	Unpriced *prometheus.CounterVec
	// SavingsRate has labels nodepool, reason; dollars per hour, negative for added cost. It is deleted when it is zero.
	SavingsRate *prometheus.GaugeVec
}

func newLedgerMetrics(b *MetricBuilder) LedgerMetrics {
	return LedgerMetrics{
		Records: b.Counters("karpenter_ledger_records_total", "Records appended to the decision ledger.", "kind"),
		Lost: b.Counters("karpenter_ledger_lost_records_total",
			"Records of the decision ledger that could not be encoded, or not be written to disk.", "reason"),
		MemoryBytes: b.Gauge("karpenter_ledger_memory_bytes", "Size of the records of the decision ledger in memory."),
		DiskBytes:   b.Gauge("karpenter_ledger_disk_bytes", "Size of the segments of the decision ledger on disk."),
		Evicted:     b.Counter("karpenter_ledger_evicted_records_total", "Records of the decision ledger that were dropped from memory for newer ones."),
		Savings: b.Counters("karpenter_disruption_savings_dollars_total",
			"Dollars saved by disruption commands, each counted for at most 24 hours.", "nodepool", "reason"),
		AddedCost: b.Counters("karpenter_disruption_added_cost_dollars_total",
			"Dollars that disruption commands cost, whose replacements are more expensive than what they removed, each counted for at most 24 hours.", "nodepool", "reason"),
		Unpriced: b.Counters("karpenter_disruption_unpriced_commands_total",
			"Disruption commands whose savings are not counted, because the price of a NodeClaim is not known; once for each NodePool they touch.", "nodepool", "reason"),
		SavingsRate: b.Gauges("karpenter_disruption_savings_rate_dollars_per_hour",
			"What the disruption commands that are counted now save in dollars per hour; negative where they add cost.", "nodepool", "reason"),
	}
}
