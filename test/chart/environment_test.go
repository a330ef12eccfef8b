package chart

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/karpenter-anew/karpenter/cloud/aws/settings"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// readVariables are the environment variables that the binary reads.
func readVariables() []string {
	return variablesOf(reflect.TypeFor[options.Options](), reflect.TypeFor[settings.Settings]())
}

// variablesOf are the environment variables that are fields of these types.
func variablesOf(types ...reflect.Type) []string {
	var out []string
	var collect func(reflect.Type)
	collect = func(of reflect.Type) {
		for field := range of.Fields() {
			if name := field.Tag.Get("envvar"); name != "" {
				out = append(out, name)
			} else if _, embedded := field.Tag.Lookup("embed"); embedded && field.Type.Kind() == reflect.Struct {
				collect(field.Type)
			}
		}
	}
	for _, t := range types {
		collect(t)
	}
	return out
}

// unread are variables for people who read the pod, or set by Kubernetes.
var unread = []string{"KUBERNETES_MIN_VERSION", "SYSTEM_NAMESPACE", "AWS_REGION"}

// TestEveryVariableIsASetting: the binary reads every variable that the chart sets.
func TestEveryVariableIsASetting(t *testing.T) {
	known := append(readVariables(), unread...)
	if len(known) < 30 {
		t.Fatalf("only %d settings were found", len(known))
	}
	for _, r := range []release{
		named("settings.clusterName=one"), named("settings.cloudProvider=kwok"),
		{chart: controller, name: "other", namespace: "infra", files: []string{"testdata/every-value.yaml"}},
	} {
		var seen []string
		for _, v := range the[*appsv1.Deployment](t, r.objects(t), "").Spec.Template.Spec.Containers[0].Env {
			if !slices.Contains(known, v.Name) {
				t.Errorf("%v: the chart passes %s, which the binary does not know", r.set, v.Name)
			}
			if slices.Contains(seen, v.Name) {
				t.Errorf("%v: %s is passed twice", r.set, v.Name)
			}
			seen = append(seen, v.Name)
		}
	}
}

// parsed reads the environment that a release gives its container, as the binary does.
func parsed(t *testing.T, r release) options.Options {
	t.Helper()
	vars := variables(r.objects(t), t)
	out, err := options.Parse(nil, func(name string) (string, bool) { v, ok := vars[name]; return v, ok }, &settings.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// onAWS are the settings of the provider for AWS.
func onAWS(o options.Options) *settings.Settings { return options.SettingsOf[settings.Settings](o) }

// TestDefaultsAreThoseOfTheBinary: a chart without values changes no default.
func TestDefaultsAreThoseOfTheBinary(t *testing.T) {
	for _, r := range []release{named("settings.cloudProvider=kwok"), named("settings.clusterName=one")} {
		got := parsed(t, r)
		byDefault := options.Default(&settings.Settings{})
		got.KarpenterService, got.Cluster.Name, got.CloudProvider = "", "", byDefault.CloudProvider
		if diff := cmp.Diff(byDefault, got); diff != "" {
			t.Errorf("%v (-binary +chart):\n%s", r.set, diff)
		}
	}
}

// everyGate are the feature gates of testdata/every-value.yaml: each differs from its default.
var everyGate = options.FeatureGates{
	NodeRepair: true, SpotToSpotConsolidation: true, NodeOverlay: true, StaticCapacity: true, CapacityBuffer: true,
	TerminateFirstDrift: true, TerminateFirstRepair: true, PodDeletionCostManagement: true, LegacyProvisioner: true,
	TaintTolerationComparisonOperators: true, OperationsPolicy: true, NominatedNodeName: true,
}

// TestEveryValueReachesTheBinary: every value reaches the binary, false and 0 included.
func TestEveryValueReachesTheBinary(t *testing.T) {
	t.Attr("covers", "N390 N391 N396 N398 N399")
	got := parsed(t, release{chart: controller, name: "other", namespace: "infra", files: []string{"testdata/every-value.yaml"}})
	byDefault := options.Default(&settings.Settings{})
	for name, differs := range map[string]bool{
		"ports":         got.Serving.MetricsPort == 9080 && got.Serving.HealthProbePort == 9081,
		"metrics":       got.Serving.SecureMetrics,
		"log":           got.Log.Level == "debug" && len(got.Log.OutputPaths) == 2 && got.Log.ErrorOutputPaths[0] == "stdout",
		"devices":       !got.Scheduling.IgnoreDRARequests,
		"scheduling":    got.Scheduling.BatchIdleDuration != byDefault.Scheduling.BatchIdleDuration && got.Scheduling.PreferencePolicy == "Ignore" && got.Scheduling.MinValuesPolicy == "BestEffort" && got.Scheduling.ConsolidateAfterScope == "Source",
		"configuration": got.Scheduling.Config.PodTopologySpread != nil,
		"state":         got.DisableClusterStateObservability,
		"gates":         got.FeatureGates == everyGate,
		"switches":      onAWS(got).IsolatedVPC && onAWS(got).EKSControlPlane && onAWS(got).EnableZonalShift && onAWS(got).DisableDryRun,
		"overhead":      got.InstanceTypes.VMMemoryOverheadPercent == 0,
		"interfaces":    onAWS(got).ReservedENIs == 1,
		"refresh":       onAWS(got).AMIRefreshInterval != onAWS(byDefault).AMIRefreshInterval && onAWS(got).SubnetRefreshInterval != onAWS(byDefault).SubnetRefreshInterval && onAWS(got).SecurityGroupRefreshInterval == 4*time.Minute,
		"gates of AWS":  onAWS(got).FeatureGates == settings.FeatureGates{NodeClassCEL: true, DRANVIDIAGPU: true, DRAEFA: true, RebootForRepair: true},
		"cluster":       got.Cluster.Endpoint == "https://other.example.com" && onAWS(got).ClusterCABundle == "QUJD" && onAWS(got).InterruptionQueue == "one",
	} {
		if !differs {
			t.Errorf("%s did not arrive: %+v", name, got)
		}
	}
}

// TestGateWithoutValueKeepsItsDefault: an empty gate would be an error.
func TestGateWithoutValueKeepsItsDefault(t *testing.T) {
	t.Attr("covers", "N391 N392")
	r := named("settings.cloudProvider=kwok", "settings.featureGates.reservedCapacity=null", "settings.featureGates.nodeRepair=true")
	if got, want := parsed(t, r).FeatureGates, (options.FeatureGates{NodeRepair: true, ReservedCapacity: true}); got != want {
		t.Errorf("gates are %+v, want %+v", got, want)
	}
	if text := variables(named("settings.clusterName=one", "settings.awsFeatureGates.nodeClassCEL=null").objects(t), t)["AWS_FEATURE_GATES"]; text != (settings.FeatureGates{}).String() {
		t.Errorf("gates of AWS without values are %s", text)
	}
	if text := variables(r.objects(t), t)["FEATURE_GATES"]; strings.Contains(text, "ReservedCapacity") {
		t.Errorf("the gate without value is passed: %s", text)
	}
}
