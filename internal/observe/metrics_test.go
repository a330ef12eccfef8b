package observe

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// compatibleNames are expected errors of the linter about names that dashboards depend on.
var compatibleNames = map[string]string{
	"karpenter_nodepools_cost_total":                           `non-counter metrics should not have "_total" suffix`,
	"karpenter_cluster_state_node_count":                       `non-histogram and non-summary metrics should not have "_count" suffix`,
	"karpenter_scheduler_ignored_pods_count":                   `non-histogram and non-summary metrics should not have "_count" suffix`,
	"karpenter_scheduler_unschedulable_pods_count":             `non-histogram and non-summary metrics should not have "_count" suffix`,
	"operator_nodeclaim_status_condition_count":                `non-histogram and non-summary metrics should not have "_count" suffix`,
	"operator_nodepool_status_condition_count":                 `non-histogram and non-summary metrics should not have "_count" suffix`,
	"operator_kwoknodeclass_status_condition_count":            `non-histogram and non-summary metrics should not have "_count" suffix`,
	"operator_node_status_condition_count":                     `non-histogram and non-summary metrics should not have "_count" suffix`,
	"operator_capacitybuffer_status_condition_count":           `non-histogram and non-summary metrics should not have "_count" suffix`,
	"operator_status_condition_count":                          `non-histogram and non-summary metrics should not have "_count" suffix`,
	"karpenter_scheduler_pending_pods_by_effective_zone_count": `non-histogram and non-summary metrics should not have "_count" suffix`,
}

// allDefinitions are all definitions, by name, but for those of cloud providers.
func allDefinitions() []Definition {
	reg := prometheus.NewRegistry()
	all := append(NewAPIClientMetrics(reg).Definitions(), NewMetrics(reg, nil, "karpenter.kwok.sh/kwoknodeclass").Definitions()...)
	return slices.SortedFunc(slices.Values(all), func(x, y Definition) int { return strings.Compare(x.Name, y.Name) })
}

func TestMetricsMatchTheSpecification(t *testing.T) {
	node := strings.Join(ownNodeLabels(), ",")
	var want, got []string
	for _, line := range readTable(t, "testdata/metrics.txt") {
		want = append(want, strings.Replace(line, "NODE", node, 1))
	}
	for _, d := range allDefinitions() {
		labels := strings.Join(d.Labels, ",")
		if labels == "" {
			labels = "-"
		}
		got = append(got, fmt.Sprintf("%s %s %s", d.Name, d.Type, labels))
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(got))); diff != "" {
		t.Errorf("metrics (-specification +code):\n%s", diff)
	}
}

// TestDefinitionsAreWhatIsRegistered fills one series of every metric and compares a scrape with the definitions.
func TestDefinitionsAreWhatIsRegistered(t *testing.T) {
	reg := prometheus.NewRegistry()
	m, client := NewMetrics(reg, nil, "karpenter.kwok.sh/kwoknodeclass"), NewAPIClientMetrics(reg)
	fillEverySeries(m, client)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, d := range allDefinitions() {
		want = append(want, fmt.Sprintf("%s %s %d", d.Name, d.Type, len(d.Labels)))
	}
	for _, f := range families {
		got = append(got, fmt.Sprintf("%s %s %d", f.GetName(), strings.ToLower(f.GetType().String()), len(f.GetMetric()[0].GetLabel())))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-definitions +scrape):\n%s", diff)
	}
	problems, err := testutil.GatherAndLint(reg)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if compatibleNames[p.Metric] != p.Text {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

// fillEverySeries touches one series of each metric, found by walking the registered vectors.
func fillEverySeries(m *Metrics, client *APIClientMetrics) {
	m.SetBuild(Build{Version: "v1", Commit: "c", GoVersion: "go", GoArch: "a"})
	counters := []*prometheus.CounterVec{
		m.NodeClaims.Created, m.NodeClaims.Terminated, m.NodeClaims.Disrupted, m.NodeClaims.UnhealthyDisrupted, m.Nodes.Created, m.Nodes.Terminated,
		m.Nodes.Drained, m.Nodes.Reboots, m.NodePools.CostTrackerErrors, m.Pods.EvictionRequests, m.Pods.DeletionCostWrites, m.Pods.Nominations, m.Pods.Drained, m.Pods.DisruptionInitiated, m.Disruption.Decisions,
		m.Disruption.DecisionsByNodePool, m.Disruption.TerminateFirstDecisions,
		m.Disruption.ConsolidationTimeouts, m.Disruption.FailedValidations, m.Disruption.QueueFailures,
		m.Disruption.ConsolidationMoves, m.Disruption.ClosedDestinations, m.Disruption.Plans, m.Scheduler.Panics, m.CloudProvider.Errors, client.Requests,
		m.Ledger.Records, m.Ledger.Lost, m.Ledger.Savings, m.Ledger.AddedCost, m.Ledger.Unpriced,
		m.Notifications.Sent, m.Notifications.Dropped, m.Notifications.FailedAttempts,
	}
	gauges := []*prometheus.GaugeVec{
		m.NodePools.Cost, m.NodePools.Unpriced, m.NodePools.AllowedDisruptions, m.NodePools.NodesConsumingBudgets, m.Disruption.EligibleNodes,
		m.Pods.DeletionCostPendingNodes, m.Scheduler.QueueDepth, m.Scheduler.UnfinishedWork, m.Scheduler.UnschedulablePods, m.Scheduler.PendingPodsByEffectiveZone,
		m.NodePools.CostByOffering, m.Ledger.SavingsRate,
	}
	lives := []*GaugeFuncVec{
		m.NodePools.Limit, m.NodePools.Usage, m.Nodes.Allocatable, m.Nodes.TotalPodRequests, m.Nodes.TotalPodLimits,
		m.Nodes.TotalDaemonRequests, m.Nodes.TotalDaemonLimits, m.Nodes.SystemOverhead, m.Nodes.CurrentLifetime, m.Cluster.Utilization,
		m.Pods.State, m.Pods.UnstartedTime, m.Pods.UnboundTime, m.Pods.ProvisioningUnboundTime, m.Pods.ProvisioningUnstartedTime,
		m.Pods.ProvisioningSchedulingUndecidedTime,
	}
	histograms := []*prometheus.HistogramVec{
		m.NodeClaims.InstanceTerminationDuration, m.NodeClaims.TerminationDuration, m.Nodes.LifetimeDuration, m.Nodes.RebootDuration, m.Nodes.RebootRecovery, m.Disruption.EvaluationDuration,
		m.Disruption.ConsolidationScore, m.Scheduler.Duration, m.CloudProvider.Duration, m.Pods.BoundDuration, m.Pods.ProvisioningBoundDuration, client.Duration,
	}
	for _, s := range []StatusMetrics{m.Status.NodeClaims, m.Status.NodePools, m.Status.Nodes, m.Status.CapacityBuffers, m.Status.Deprecated, m.Status.NodeClasses["karpenter.kwok.sh/kwoknodeclass"]} {
		lives = append(lives, s.Count, s.CurrentStatus, s.TerminationCurrent)
		histograms = append(histograms, s.Transition, s.TerminationDuration)
		counters = append(counters, s.Transitions)
	}
	for _, l := range lives {
		l.AddSource(func(add AddSeries) { add(1, blanks(l)...) })
	}
	for _, c := range counters {
		c.WithLabelValues(blanks(c)...).Inc()
	}
	for _, g := range gauges {
		g.WithLabelValues(blanks(g)...).Set(1)
	}
	for _, h := range histograms {
		h.WithLabelValues(blanks(h)...).Observe(1)
	}
	m.Nodes.TerminationDuration.WithLabelValues("").Observe(1)
}

// blanks returns one empty value for each label of a family.
func blanks(c prometheus.Collector) []string {
	descs := make(chan *prometheus.Desc, 1)
	c.Describe(descs)
	text := (<-descs).String()
	_, labels, _ := strings.Cut(text, "variableLabels: {")
	labels, _, _ = strings.Cut(labels, "}")
	if labels == "" {
		return nil
	}
	return make([]string, len(strings.Split(labels, ",")))
}

func TestBuckets(t *testing.T) {
	byName := map[string][]float64{}
	for _, d := range allDefinitions() {
		byName[d.Name] = d.Buckets
	}
	for name, want := range map[string][]float64{
		"karpenter_nodeclaims_instance_termination_duration_seconds": {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024},
		"karpenter_nodeclaims_termination_duration_seconds":          {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048},
		"karpenter_nodes_lifetime_duration_seconds": {
			900, 1800, 2700, 3600, 7200, 14400, 21600, 28800, 36000, 43200, 57600, 72000,
			86400, 172800, 259200, 432000, 864000, 1296000, 1728000, 2160000, 2592000,
		},
		"karpenter_consolidation_score":            {0.1, 0.25, 0.33, 0.5, 1, 2, 5, 10},
		"karpenter_cloudprovider_duration_seconds": {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10},
	} {
		if diff := cmp.Diff(want, byName[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	client := byName["client_go_request_duration_seconds"]
	if len(client) != 20 || client[0] != 0.001 || client[1] != 0.0015 {
		t.Errorf("API client buckets: %v", client)
	}
	if got := byName["karpenter_scheduler_scheduling_duration_seconds"]; len(got) != 45 || got[0] != 0.005 || got[44] != 600 {
		t.Errorf("duration buckets: %v", got)
	}
}

func TestBuildInfo(t *testing.T) {
	t.Attr("covers", "C556")
	reg := prometheus.NewRegistry()
	NewMetrics(reg, nil).SetBuild(Build{Version: "v1.2.3", GoVersion: "go1.26", GoArch: "arm64", Commit: "abcdef0-dirty"})
	const want = `
		# HELP karpenter_build_info Always 1; the labels describe the running build.
		# TYPE karpenter_build_info gauge
		karpenter_build_info{commit="abcdef0-dirty",goarch="arm64",goversion="go1.26",version="v1.2.3"} 1
	`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "karpenter_build_info"); err != nil {
		t.Error(err)
	}
}

func TestConsolidationTimeoutsStartAtZero(t *testing.T) {
	m := NewMetrics(prometheus.NewRegistry(), nil)
	if got := testutil.CollectAndCount(m.Disruption.ConsolidationTimeouts); got != 2 {
		t.Errorf("%d series at the start, want single and multi", got)
	}
}

func TestNodeLabelsFollowTheWellKnownKeys(t *testing.T) {
	m := NewMetrics(prometheus.NewRegistry(), []string{
		"topology.kubernetes.io/zone", "node.kubernetes.io/windows-build", "karpenter.sh/nodepool",
		"karpenter.kwok.sh/instance-CPU", "example.com/zone", "example.com/phase", "bare",
	})
	wantNames := []string{"bare", "zone", "instance_cpu", "nodepool", "windows_build", "node_name", "phase", "managed"}
	if diff := cmp.Diff(wantNames, m.Nodes.Labels.Names()); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"karpenter.sh/nodepool": "general", "example.com/zone": "z", "bare": "b"}}}
	node.Status.Phase = corev1.NodeRunning
	if diff := cmp.Diff([]string{"b", "z", "", "general", "", "n", "Running", "true"}, m.Nodes.Labels.Values(node, true)); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	m.Nodes.CurrentLifetime.AddSource(func(add AddSeries) { add(1, m.Nodes.Labels.Values(node, false)...) })
	m.Nodes.Allocatable.AddSource(func(add AddSeries) { add(1, append(m.Nodes.Labels.Values(node, false), "cpu")...) })
	if n := testutil.CollectAndCount(m.Nodes.CurrentLifetime) + testutil.CollectAndCount(m.Nodes.Allocatable); n != 2 {
		t.Errorf("%d series, want one of each", n)
	}
}

func TestGaugeStoreRemovesWhatIsNotRepeated(t *testing.T) {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "g", Help: "h"}, []string{"a", "b"})
	other := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "o", Help: "h"}, []string{"a", "b"})
	s := NewGaugeStore()
	check := func(step string, wantG, wantOther int) {
		t.Helper()
		if got := [2]int{testutil.CollectAndCount(g), testutil.CollectAndCount(other)}; got != [2]int{wantG, wantOther} {
			t.Errorf("%s: %v series, want %d and %d", step, got, wantG, wantOther)
		}
	}
	sample := func(g *prometheus.GaugeVec, value float64, labels ...string) Sample {
		return Sample{Gauge: g, Labels: labels, Value: value}
	}
	s.Replace("x", sample(g, 1, "1", "1"), sample(g, 1, "1", "2"), sample(other, 1, "1", "1"))
	s.Replace("y", sample(g, 1, "2", "1"))
	check("two objects", 3, 1)
	s.Replace("x", sample(g, 5, "1", "2"))
	check("a label changed", 2, 0)
	if got := testutil.ToFloat64(g.WithLabelValues("1", "2")); got != 5 {
		t.Errorf("value %v, want 5", got)
	}
	s.ReplaceAll(map[string][]Sample{"z": {sample(other, 1, "3", "3")}})
	check("a new set", 0, 1)
	s.Remove("z")
	check("removed", 0, 0)
	if len(s.series) != 0 {
		t.Errorf("%d objects remembered", len(s.series))
	}
}

func TestLabelValues(t *testing.T) {
	zero, minute := metav1.Duration{}, metav1.Duration{Duration: 60e9}
	for _, tc := range []struct{ got, want any }{
		{TerminationMode(nil), "graceful"},
		{TerminationMode(&zero), "forceful"},
		{TerminationMode(&minute), "eventual"},
		{SnakeCase("WhenEmptyOrUnderutilized"), "when_empty_or_underutilized"},
		{SnakeCase(""), ""},
		{SnakeCase("ready"), "ready"},
		{ResourceType("ephemeral-storage"), "ephemeral_storage"},
		{ResourceType("nvidia.com/GPU"), "nvidia.com/gpu"},
		{ResourceValue(corev1.ResourceCPU, resource.MustParse("1500m")), 1.5},
		{ResourceValue(corev1.ResourceMemory, resource.MustParse("1Ki")), 1024.0},
	} {
		if tc.got != tc.want {
			t.Errorf("got %v, want %v", tc.got, tc.want)
		}
	}
}
