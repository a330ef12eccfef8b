package observe

import "github.com/prometheus/client_golang/prometheus"

// DisruptionMetrics describes voluntary disruption. Label values: reason in lower case; consolidation_type empty, multi, single, or ""
// for drift; decision delete, replace, terminate-first or reboot; policy in CamelCase.
type DisruptionMetrics struct {
	// EvaluationDuration has labels reason, consolidation_type.
	EvaluationDuration *prometheus.HistogramVec
	// Decisions has labels decision, reason, consolidation_type.
	Decisions *prometheus.CounterVec
	// DecisionsByNodePool has labels nodepool, decision, reason, consolidation_type; once for each pool in a command.
	DecisionsByNodePool *prometheus.CounterVec
	// TerminateFirstDecisions has labels nodepool, reason, terminate_first_reason (no-reserved-capacity, static-at-limit).
	TerminateFirstDecisions *prometheus.CounterVec
	// Plans has labels phase (in CamelCase), reason (as in snake case).
	Plans *prometheus.CounterVec
	// EligibleNodes has label reason.
	EligibleNodes *prometheus.GaugeVec
	// ConsolidationTimeouts has label consolidation_type; starts at 0 for single and multi.
	ConsolidationTimeouts *prometheus.CounterVec
	// ClosedDestinations has label nodepool.
	ClosedDestinations *prometheus.CounterVec
	// FailedValidations has label consolidation_type.
	FailedValidations *prometheus.CounterVec
	// QueueFailures has labels decision, reason, consolidation_type. Upstream puts the decision into the last
	// one.
	QueueFailures *prometheus.CounterVec
	// ConsolidationScore has labels decision (approved, rejected), nodepool, policy.
	ConsolidationScore *prometheus.HistogramVec
	// ConsolidationMoves has labels decision (approved, rejected), nodepool, policy.
	ConsolidationMoves *prometheus.CounterVec
}

func newDisruptionMetrics(b *MetricBuilder) DisruptionMetrics {
	m := DisruptionMetrics{
		EvaluationDuration: b.Histograms("karpenter_voluntary_disruption_decision_evaluation_duration_seconds",
			"Time that one disruption method took.", DurationBuckets(), "reason", "consolidation_type"),
		Decisions: b.Counters("karpenter_voluntary_disruption_decisions_total",
			"Disruption commands started.", "decision", "reason", "consolidation_type"),
		DecisionsByNodePool: b.Counters("karpenter_voluntary_disruption_decisions_by_nodepool_total",
			"Disruption commands started, once for each NodePool they touch.", "nodepool", "decision", "reason", "consolidation_type"),
		TerminateFirstDecisions: b.Counters("karpenter_voluntary_disruption_terminate_first_decisions_total",
			"Nodes that were terminated before their replacements launched, because there was no capacity for both.", "nodepool", "reason", "terminate_first_reason"),
		Plans: b.Counters("karpenter_disruption_plans_total",
			"DisruptionPlans that came into a phase.", "phase", "reason"),
		EligibleNodes: b.Gauges("karpenter_voluntary_disruption_eligible_nodes",
			"Nodes that could be disrupted.", "reason"),
		ConsolidationTimeouts: b.Counters("karpenter_voluntary_disruption_consolidation_timeouts_total",
			"Searches for a consolidation that timed out.", "consolidation_type"),
		ClosedDestinations: b.Counters("karpenter_voluntary_disruption_closed_destinations_total",
			"Evaluations in which a node was not consolidated only because nodes that would take its pods were within their consolidateAfter.", "nodepool"),
		FailedValidations: b.Counters("karpenter_voluntary_disruption_failed_validations_total",
			"Candidates that were not valid when a command was validated.", "consolidation_type"),
		QueueFailures: b.Counters("karpenter_voluntary_disruption_queue_failures_total",
			"Replacements of failed commands that did not initialize.", "decision", "reason", "consolidation_type"),
		ConsolidationScore: b.Histograms("karpenter_consolidation_score",
			"Scores of Balanced moves: share of cost saved divided by share of disruption.", []float64{0.1, 0.25, 0.33, 0.5, 1, 2, 5, 10}, "decision", "nodepool", "policy"),
		ConsolidationMoves: b.Counters("karpenter_consolidation_moves_total",
			"Consolidation moves evaluated.", "decision", "nodepool", "policy"),
	}
	for _, kind := range []string{"single", "multi"} {
		m.ConsolidationTimeouts.WithLabelValues(kind)
	}
	return m
}
