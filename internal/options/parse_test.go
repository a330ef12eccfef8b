package options

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func lookup(env map[string]string) LookupEnv {
	return func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}
}

func TestDefaults(t *testing.T) {
	t.Attr("covers", "C546")
	want := Options{
		Serving:        Serving{MetricsPort: 8080, HealthProbePort: 8081},
		Client:         Client{QPS: 200, Burst: 300},
		LeaderElection: LeaderElection{Name: "karpenter-leader-election", DisableWarmup: true},
		Process:        Process{MemoryLimit: -1, CPURequests: 1000},
		Log:            Log{Level: LogLevelInfo, OutputPaths: []string{"stdout"}, ErrorOutputPaths: []string{"stderr"}},
		Ledger:         Ledger{Memory: 64 << 20, Disk: 1 << 30},
		Notifications:  Notifications{Format: NotificationJSON},
		Scheduling: Scheduling{
			BatchMaxDuration: 10 * time.Second, BatchIdleDuration: time.Second,
			PreferencePolicy: PreferenceRespect, MinValuesPolicy: MinValuesStrict, IgnoreDRARequests: true, PodGroups: PodGroupsAuto,
			ConsolidateAfterScope: ConsolidateAfterSourceAndDestination,
		},
		FeatureGates:  FeatureGates{ReservedCapacity: true},
		CloudProvider: CloudProviderKWOK,
		KWOK:          KWOK{Catalog: "generic"},
		InstanceTypes: InstanceTypes{VMMemoryOverheadPercent: 0.075},
	}
	if diff := cmp.Diff(want, Default()); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

// settings has one row per flag: a value for the command line, another for the environment, and how to see which one won.
var settings = []struct {
	flag, onFlag, env, inEnv string
	got                      func(Options) any
	fromFlag, fromEnv        any
}{
	{"karpenter-service", "a", "KARPENTER_SERVICE", "b", func(o Options) any { return o.KarpenterService }, "a", "b"},
	{"cluster-name", "a", "CLUSTER_NAME", "b", func(o Options) any { return o.Cluster.Name }, "a", "b"},
	{"cluster-endpoint", "https://a", "CLUSTER_ENDPOINT", "https://b", func(o Options) any { return o.Cluster.Endpoint }, "https://a", "https://b"},
	{"vm-memory-overhead-percent", "0", "VM_MEMORY_OVERHEAD_PERCENT", "0.1", func(o Options) any { return o.InstanceTypes.VMMemoryOverheadPercent }, 0.0, 0.1},
	{"metrics-port", "1", "METRICS_PORT", "2", func(o Options) any { return o.Serving.MetricsPort }, 1, 2},
	{"health-probe-port", "1", "HEALTH_PROBE_PORT", "2", func(o Options) any { return o.Serving.HealthProbePort }, 1, 2},
	{"kube-client-qps", "-1", "KUBE_CLIENT_QPS", "2", func(o Options) any { return o.Client.QPS }, -1, 2},
	{"kube-client-burst", "1", "KUBE_CLIENT_BURST", "2", func(o Options) any { return o.Client.Burst }, 1, 2},
	{"enable-profiling", "false", "ENABLE_PROFILING", "1", func(o Options) any { return o.Serving.EnableProfiling }, false, true},
	{"secure-metrics", "false", "SECURE_METRICS", "true", func(o Options) any { return o.Serving.SecureMetrics }, false, true},
	{"disable-controller-warmup", "true", "DISABLE_CONTROLLER_WARMUP", "F", func(o Options) any { return o.LeaderElection.DisableWarmup }, true, false},
	{"disable-leader-election", "false", "DISABLE_LEADER_ELECTION", "TRUE", func(o Options) any { return o.LeaderElection.Disable }, false, true},
	{"disable-cluster-state-observability", "false", "DISABLE_CLUSTER_STATE_OBSERVABILITY", "t", func(o Options) any { return o.DisableClusterStateObservability }, false, true},
	{"leader-election-name", "a", "LEADER_ELECTION_NAME", "b", func(o Options) any { return o.LeaderElection.Name }, "a", "b"},
	{"leader-election-namespace", "a", "LEADER_ELECTION_NAMESPACE", "b", func(o Options) any { return o.LeaderElection.Namespace }, "a", "b"},
	{"memory-limit", "9000000000", "MEMORY_LIMIT", "1048576", func(o Options) any { return o.Process.MemoryLimit }, int64(9000000000), int64(1048576)},
	{"cpu-requests", "0", "CPU_REQUESTS", "2500", func(o Options) any { return o.Process.CPURequests }, int64(1000), int64(2500)},
	{"log-level", "debug", "LOG_LEVEL", "error", func(o Options) any { return o.Log.Level }, LogLevelDebug, LogLevelError},
	{"log-output-paths", "stdout, /tmp/x", "LOG_OUTPUT_PATHS", "stderr", func(o Options) any { return strings.Join(o.Log.OutputPaths, "|") }, "stdout|/tmp/x", "stderr"},
	{"log-error-output-paths", "a,b", "LOG_ERROR_OUTPUT_PATHS", "c", func(o Options) any { return strings.Join(o.Log.ErrorOutputPaths, "|") }, "a|b", "c"},
	{"batch-max-duration", "1m", "BATCH_MAX_DURATION", "2s", func(o Options) any { return o.Scheduling.BatchMaxDuration }, time.Minute, 2 * time.Second},
	{"batch-idle-duration", "100ms", "BATCH_IDLE_DURATION", "2s", func(o Options) any { return o.Scheduling.BatchIdleDuration }, 100 * time.Millisecond, 2 * time.Second},
	{"preference-policy", "Respect", "PREFERENCE_POLICY", "Ignore", func(o Options) any { return o.Scheduling.PreferencePolicy }, PreferenceRespect, PreferenceIgnore},
	{"preference-policy", "Respect", "PREFERENCE_POLICY", "Economical", func(o Options) any { return o.Scheduling.PreferencePolicy }, PreferenceRespect, PreferenceEconomical},
	{"min-values-policy", "Strict", "MIN_VALUES_POLICY", "BestEffort", func(o Options) any { return o.Scheduling.MinValuesPolicy }, MinValuesStrict, MinValuesBestEffort},
	{"consolidate-after-scope", "SourceAndDestination", "CONSOLIDATE_AFTER_SCOPE", "Source", func(o Options) any { return o.Scheduling.ConsolidateAfterScope }, ConsolidateAfterSourceAndDestination, ConsolidateAfterSource},
	{"ignore-dra-requests", "true", "IGNORE_DRA_REQUESTS", "false", func(o Options) any { return o.Scheduling.IgnoreDRARequests }, true, false},
	{"pod-groups", "Auto", "POD_GROUPS", "Ignore", func(o Options) any { return o.Scheduling.PodGroups }, PodGroupsAuto, PodGroupsIgnore},
	{
		"feature-gates", "NodeRepair=true", "FEATURE_GATES", "NodeOverlay=true", func(o Options) any { return o.FeatureGates },
		FeatureGates{ReservedCapacity: true, NodeRepair: true},
		FeatureGates{ReservedCapacity: true, NodeOverlay: true},
	},
	{"scheduler-config", `{"podTopologySpread":{}}`, "SCHEDULER_CONFIG", "podTopologySpread: null", func(o Options) any { return o.Scheduling.Config.PodTopologySpread != nil }, true, false},
	{"cloud-provider", "kwok", "CLOUD_PROVIDER", "kwok", func(o Options) any { return o.CloudProvider }, CloudProviderKWOK, CloudProviderKWOK},
	{"instance-types-file-path", "a", "INSTANCE_TYPES_FILE_PATH", "b", func(o Options) any { return o.KWOK.InstanceTypesFilePath }, "a", "b"},
	{"catalog", "a", "CATALOG", "b", func(o Options) any { return o.KWOK.Catalog }, "a", "b"},
}

func TestPrecedence(t *testing.T) {
	t.Attr("covers", "C547")
	for _, tc := range settings {
		t.Run(tc.flag, func(t *testing.T) {
			arg := "--" + tc.flag + "=" + tc.onFlag
			env := lookup(map[string]string{tc.env: tc.inEnv})
			for _, run := range []struct {
				name string
				args []string
				env  LookupEnv
				want any
			}{
				{"flag", []string{arg}, lookup(nil), tc.fromFlag},
				{"environment", nil, env, tc.fromEnv},
				{"flag beats environment", []string{arg}, env, tc.fromFlag},
				{"empty environment is unset", nil, lookup(map[string]string{tc.env: ""}), tc.got(Default())},
			} {
				got, err := Parse(run.args, run.env)
				if err != nil {
					t.Errorf("%s: %v", run.name, err)
				} else if diff := cmp.Diff(run.want, tc.got(got)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", run.name, diff)
				}
			}
		})
	}
}

func TestFlagForms(t *testing.T) {
	t.Attr("covers", "C547")
	got, err := Parse([]string{"--enable-profiling", "--metrics-port", "9000", "--ignore-dra-requests=false"}, lookup(map[string]string{"KUBE_CLIENT_QPS": "7"}))
	if err != nil {
		t.Fatal(err)
	}
	if !got.Serving.EnableProfiling || got.Serving.MetricsPort != 9000 || got.Scheduling.IgnoreDRARequests || got.Client.QPS != 7 {
		t.Errorf("flags and environment do not merge: %+v", got)
	}
}

func TestLogLevels(t *testing.T) {
	t.Attr("covers", "C550")
	for text, want := range map[string]LogLevel{"": LogLevelInfo, "debug": LogLevelDebug, "info": LogLevelInfo, "error": LogLevelError} {
		if got, err := Parse([]string{"--log-level=" + text}, lookup(nil)); err != nil || got.Log.Level != want {
			t.Errorf("--log-level=%s: level %q, error %v, want %q", text, got.Log.Level, err, want)
		}
	}
	for _, text := range []string{"warn", "INFO", "trace", "0"} {
		if _, err := Parse([]string{"--log-level=" + text}, lookup(nil)); err == nil {
			t.Errorf("--log-level=%s was accepted", text)
		}
	}
}

// TestValuesThatMeanNoLimit: what upstream documents as "none" stays valid.
func TestValuesThatMeanNoLimit(t *testing.T) {
	for _, arg := range []string{"--memory-limit=-1", "--memory-limit=0", "--memory-limit=1048576", "--kube-client-qps=-1", "--metrics-port=0", "--metrics-port=65535"} {
		if _, err := Parse([]string{arg}, lookup(nil)); err != nil {
			t.Errorf("%s: %v", arg, err)
		}
	}
}

func TestNoCPUIsOneCore(t *testing.T) {
	t.Attr("covers", "C551")
	for text, want := range map[string]int64{"0": 1000, "-5": 1000, "1": 1, "2500": 2500} {
		if got, err := Parse([]string{"--cpu-requests=" + text}, lookup(nil)); err != nil || got.Process.CPURequests != want {
			t.Errorf("--cpu-requests=%s: %d, error %v, want %d", text, got.Process.CPURequests, err, want)
		}
	}
}

func TestErrorsNameSourceValueAndWhatIsAllowed(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		env  map[string]string
		want []string
	}{
		{"flag not a number", []string{"--metrics-port=http"}, nil, []string{"--metrics-port", `"http"`, "whole number"}},
		{"variable not a number", nil, map[string]string{"METRICS_PORT": "http"}, []string{"METRICS_PORT", "--metrics-port", `"http"`, "whole number"}},
		{"flag not a duration", []string{"--batch-idle-duration=5"}, nil, []string{"--batch-idle-duration", `"5"`, "10s"}},
		{"variable not a duration", nil, map[string]string{"BATCH_MAX_DURATION": "ten"}, []string{"BATCH_MAX_DURATION", `"ten"`, "10s"}},
		{"flag boolean in another spelling", []string{"--enable-profiling=1"}, nil, []string{"--enable-profiling", `"1"`, "true or false"}},
		{"variable not a boolean", nil, map[string]string{"ENABLE_PROFILING": "yes"}, []string{"ENABLE_PROFILING", `"yes"`, "true or false"}},
		{"log level", []string{"--log-level=verbose"}, nil, []string{"--log-level", `"verbose"`, "debug, info, error"}},
		{"log level in another case", nil, map[string]string{"LOG_LEVEL": "DEBUG"}, []string{"LOG_LEVEL", `"DEBUG"`, "debug, info, error"}},
		{"preference policy", nil, map[string]string{"PREFERENCE_POLICY": "ignore"}, []string{"PREFERENCE_POLICY", `"ignore"`, "Respect, Economical, Ignore"}},
		{"min values policy", []string{"--min-values-policy=x"}, nil, []string{"--min-values-policy", "Strict, BestEffort"}},
		{"cloud provider", []string{"--cloud-provider=gcp"}, nil, []string{"--cloud-provider", `"gcp"`, "kwok"}},
		{"unknown gate on flag", []string{"--feature-gates=NodeRepairs=true"}, nil, []string{"--feature-gates", `"NodeRepairs"`, "NodeRepair, ReservedCapacity"}},
		{"unknown gate in environment", nil, map[string]string{"FEATURE_GATES": "Drift=true"}, []string{"FEATURE_GATES", `"Drift"`, "CapacityBuffer"}},
		{"gate with empty value", []string{"--feature-gates=NodeOverlay="}, nil, []string{"NodeOverlay", "no value", "NodeOverlay=true"}},
		{"gate without value", []string{"--feature-gates=NodeOverlay"}, nil, []string{"NodeOverlay", "no value"}},
		{"gate not a boolean", []string{"--feature-gates=NodeOverlay=on"}, nil, []string{"NodeOverlay", `"on"`, "true or false"}},
		{"scheduler config", nil, map[string]string{"SCHEDULER_CONFIG": "spread: {}"}, []string{"SCHEDULER_CONFIG", "spread", "podTopologySpread.defaultConstraints"}},
		{"empty path", []string{"--log-output-paths=stdout,,x"}, nil, []string{"--log-output-paths", "stdout, stderr or file names"}},
		{"port out of range", []string{"--metrics-port=70000"}, nil, []string{"--metrics-port", "METRICS_PORT", "70000", "65535"}},
		{"same port twice", []string{"--metrics-port=9000", "--health-probe-port=9000"}, nil, []string{"--health-probe-port", "9000", "differ"}},
		{"no rate", []string{"--kube-client-qps=0"}, nil, []string{"--kube-client-qps", "KUBE_CLIENT_QPS", "above 0"}},
		{"no burst", []string{"--kube-client-burst=-1"}, nil, []string{"--kube-client-burst", "above 0"}},
		{"number that does not fit", []string{"--cpu-requests=9223372036854775808"}, nil, []string{"--cpu-requests", "whole number that fits in 64 bits"}},
		{"memory limit in MiB", []string{"--memory-limit=512"}, nil, []string{"--memory-limit", "MEMORY_LIMIT", "is 512:", "at least 1048576 bytes (1Mi)", "-1 or 0 for no limit"}},
		{"memory limit in MiB in the environment", nil, map[string]string{"MEMORY_LIMIT": "1048575"}, []string{"MEMORY_LIMIT", "is 1048575:", "at least 1048576 bytes"}},
		{"negative memory limit", []string{"--memory-limit=-2"}, nil, []string{"--memory-limit", "is -2:", "-1 or 0 for no limit"}},
		{"no quiet time", nil, map[string]string{"BATCH_IDLE_DURATION": "0s"}, []string{"--batch-idle-duration", "BATCH_IDLE_DURATION", "is 0s:", "above 0s, for example 1s"}},
		{"duration that does not fit", []string{"--batch-max-duration=9999999h"}, nil, []string{"--batch-max-duration", `"9999999h"`, "at most 2562047h"}},
		{"negative window", []string{"--batch-max-duration=-1s"}, nil, []string{"--batch-max-duration", "-1s", "above 0s"}},
		{"lease name", []string{"--leader-election-name=My_Lease"}, nil, []string{"--leader-election-name", `"My_Lease"`}},
		{"lease namespace", nil, map[string]string{"LEADER_ELECTION_NAMESPACE": "a.b"}, []string{"LEADER_ELECTION_NAMESPACE", `"a.b"`}},
		{"several at once", []string{"--metrics-port=-1", "--kube-client-qps=0"}, nil, []string{"--metrics-port", "\n", "--kube-client-qps"}},
		{"unknown flag", []string{"--metric-port=1"}, nil, []string{"--metric-port", "--metrics-port"}},
		{"stray word", []string{"extra"}, nil, []string{"extra"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Parse(tc.args, lookup(tc.env))
			if err == nil {
				t.Fatal("accepted")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("message lacks %q:\n%s", want, err)
				}
			}
		})
	}
}

func TestFeatureGatesAloneAndTogether(t *testing.T) {
	t.Attr("covers", "C548 C549 N266")
	base := DefaultFeatureGates()
	for _, g := range base.gates() {
		want := DefaultFeatureGates()
		flipped := !*g.field
		*lookupGate(want.gates(), g.name) = flipped
		got, err := ParseFeatureGates(g.name + "=" + map[bool]string{true: "true", false: "false"}[flipped])
		if err != nil || got != want {
			t.Errorf("%s: got %v, %v, want %v", g.name, got, err, want)
		}
	}
	got, err := ParseFeatureGates(" NodeRepair = true , StaticCapacity=T,NodeRepair=0,")
	if want := (FeatureGates{ReservedCapacity: true, StaticCapacity: true}); err != nil || got != want {
		t.Errorf("several with spaces: got %v, %v, want %v", got, err, want)
	}
	const text = "NodeRepair=false,ReservedCapacity=true,SpotToSpotConsolidation=false,NodeOverlay=false,StaticCapacity=false,CapacityBuffer=false,TerminateFirstDrift=false,TerminateFirstRepair=false,PodDeletionCostManagement=false,LegacyProvisioner=false,TaintTolerationComparisonOperators=false,OperationsPolicy=false,NominatedNodeName=false"
	if base.String() != text {
		t.Errorf("default string is %s, want %s", base, text)
	}
	if got, err := ParseFeatureGates(text); err != nil || got != base {
		t.Errorf("the default string reads as %v, %v", got, err)
	}
}

func TestSchedulerConfig(t *testing.T) {
	t.Attr("covers", "C552 C553 L260 N265")
	const element = "{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}"
	list := func(elements ...string) string {
		return "podTopologySpread: {defaultConstraints: [" + strings.Join(elements, ", ") + "]}"
	}
	edit := func(old, replacement string) string { return strings.Replace(element, old, replacement, 1) }
	for _, tc := range []struct{ name, text, problem string }{
		{"empty", "", ""},
		{"blank", " \n", ""},
		{"yaml", list(element), ""},
		{"json", `{"podTopologySpread":{"defaultConstraints":[{"maxSkew":2,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule"}]}}`, ""},
		{"same key, other action", list(element, edit("ScheduleAnyway", "DoNotSchedule")), ""},
		{"duplicate pair", list(element, element), "defaultConstraints[1] repeats"},
		{"unknown field at the top", "profiles: []", "profiles"},
		{"unknown field of an element", list(edit("maxSkew: 1", "maxSkew: 1, skew: 1")), "skew"},
		{"field in another case", list(edit("maxSkew", "MaxSkew")), "MaxSkew"},
		{"duplicate key", "podTopologySpread: {}\npodTopologySpread: {}", "podTopologySpread"},
		{"malformed", "podTopologySpread: [", "not a YAML or JSON document"},
		{"wrong kind of value", "podTopologySpread: 3", "podTopologySpread"},
		{"skew zero", list(edit("maxSkew: 1", "maxSkew: 0")), "maxSkew is 0"},
		{"skew negative", list(edit("maxSkew: 1", "maxSkew: -1")), "maxSkew is -1"},
		{"no key", list(edit("topology.kubernetes.io/zone", `""`)), "topologyKey"},
		{"bad key", list(edit("topology.kubernetes.io/zone", "a b")), `topologyKey is "a b"`},
		{"bad action", list(edit("ScheduleAnyway", "Sometimes")), `whenUnsatisfiable is "Sometimes"`},
		{"no action", list("{maxSkew: 1, topologyKey: zone}"), `whenUnsatisfiable is ""`},
		{"selector", list(edit("maxSkew: 1", "maxSkew: 1, labelSelector: {}")), "labelSelector must be absent"},
		{"match keys", list(edit("maxSkew: 1", "maxSkew: 1, matchLabelKeys: [a]")), "matchLabelKeys must be empty"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := ParseSchedulerConfig(tc.text)
			switch {
			case tc.problem == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.problem != "" && err == nil:
				t.Error("accepted")
			case tc.problem != "" && !strings.Contains(err.Error(), tc.problem):
				t.Errorf("message lacks %q: %v", tc.problem, err)
			}
		})
	}
	config, err := ParseSchedulerConfig(list(element))
	want := []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.ScheduleAnyway}}
	if diff := cmp.Diff(want, config.DefaultConstraints()); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestScale(t *testing.T) {
	t.Attr("covers", "C554 C555 L408")
	for _, tc := range []struct {
		cpu                int64
		atMin, atMax, want int
	}{
		{1000, 10, 1000, 10},
		{1500, 10, 1000, 26},
		{15000, 10, 1000, 244},
		{100000, 10, 1000, 1000},
		{500, 10, 1000, 10},
		{-5, 10, 1000, 10},
		{60000, 10, 1000, 1000},
		{59001, 10, 1000, 1000},
		{600000, 10, 1000, 1000},
		{2000, 10, 1000, 26},
		{1001, 10, 1000, 26},
		{30000, 10, 1000, 496},
		{30000, 1000, 5000, 2966},
	} {
		if got := Scale(tc.cpu, tc.atMin, tc.atMax); got != tc.want {
			t.Errorf("Scale(%d, %d, %d) = %d, want %d", tc.cpu, tc.atMin, tc.atMax, got, tc.want)
		}
	}
	for _, tc := range []struct{ qps, atMin, n, rate, burst int }{{100, 100, 100, 100, 1000}, {10, 100, 5000, 500, 5000}, {10, 1000, 1001, 11, 110}} {
		if rate, burst := Bucket(tc.qps, tc.atMin, tc.n); rate != tc.rate || burst != tc.burst {
			t.Errorf("Bucket(%d, %d, %d) = %d, %d, want %d, %d", tc.qps, tc.atMin, tc.n, rate, burst, tc.rate, tc.burst)
		}
	}
}

func TestNominationWindow(t *testing.T) {
	for batch, want := range map[time.Duration]time.Duration{time.Second: 10 * time.Second, 10 * time.Second: 20 * time.Second} {
		if got := (Scheduling{BatchMaxDuration: batch}).NominationWindow(); got != want {
			t.Errorf("batch %v: window %v, want %v", batch, got, want)
		}
	}
}
