package settings

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/internal/options"
)

func lookup(env map[string]string) options.LookupEnv {
	return func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}
}

// parse parses as the binary does and returns the settings of AWS.
func parse(args []string, env options.LookupEnv) (Settings, error) {
	var s Settings
	_, err := options.Parse(args, env, &s)
	return s, err
}

// awsSettings are the settings of the provider for AWS, each with a value from the command line, one from the environment and
// its default.
var awsSettings = []struct {
	flag, onFlag, env, inEnv string
	got                      func(Settings) any
	fromFlag, fromEnv        any
	byDefault                any
}{
	{"cluster-ca-bundle", "a", "CLUSTER_CA_BUNDLE", "b", func(o Settings) any { return o.ClusterCABundle }, "a", "b", ""},
	{"isolated-vpc", "false", "ISOLATED_VPC", "true", func(o Settings) any { return o.IsolatedVPC }, false, true, false},
	{"eks-control-plane", "false", "EKS_CONTROL_PLANE", "true", func(o Settings) any { return o.EKSControlPlane }, false, true, false},
	{"interruption-queue", "a", "INTERRUPTION_QUEUE", "b", func(o Settings) any { return o.InterruptionQueue }, "a", "b", ""},
	{"reserved-enis", "1", "RESERVED_ENIS", "2", func(o Settings) any { return o.ReservedENIs }, 1, 2, 0},
	{"disable-dry-run", "false", "DISABLE_DRY_RUN", "true", func(o Settings) any { return o.DisableDryRun }, false, true, false},
	{"enable-zonal-shift", "false", "ENABLE_ZONAL_SHIFT", "true", func(o Settings) any { return o.EnableZonalShift }, false, true, false},
	{"ami-refresh-interval", "2m", "AMI_REFRESH_INTERVAL", "3m", func(o Settings) any { return o.AMIRefreshInterval }, 2 * time.Minute, 3 * time.Minute, time.Minute},
	{"subnet-refresh-interval", "2m", "SUBNET_REFRESH_INTERVAL", "3m", func(o Settings) any { return o.SubnetRefreshInterval }, 2 * time.Minute, 3 * time.Minute, time.Minute},
	{"security-group-refresh-interval", "2m", "SECURITY_GROUP_REFRESH_INTERVAL", "3m", func(o Settings) any { return o.SecurityGroupRefreshInterval }, 2 * time.Minute, 3 * time.Minute, time.Minute},
	{"aws-feature-gates", "NodeClassCEL=false", "AWS_FEATURE_GATES", "NodeClassCEL=true", func(o Settings) any { return o.FeatureGates.NodeClassCEL }, false, true, false},
}

func TestPrecedenceOfAWSSettings(t *testing.T) {
	t.Attr("covers", "A354 N307")
	for _, tc := range awsSettings {
		t.Run(tc.flag, func(t *testing.T) {
			arg, env := "--"+tc.flag+"="+tc.onFlag, lookup(map[string]string{tc.env: tc.inEnv})
			for _, run := range []struct {
				name string
				args []string
				env  options.LookupEnv
				want any
			}{
				{"default", nil, lookup(nil), tc.byDefault},
				{"environment", nil, env, tc.fromEnv},
				{"flag beats environment", []string{arg}, env, tc.fromFlag},
			} {
				got, err := parse(run.args, run.env)
				if err != nil {
					t.Errorf("%s: %v", run.name, err)
				} else if diff := cmp.Diff(run.want, tc.got(got)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", run.name, diff)
				}
			}
		})
	}
}

func TestWhatCannotBeRightOnAWSIsRefused(t *testing.T) {
	t.Attr("covers", "A355 N307")
	for _, tc := range []struct{ name, arg, want string }{
		{"relative endpoint", "--cluster-endpoint=/api", "cluster endpoint URL is not valid"},
		{"endpoint without host", "--cluster-endpoint=https://:443", "cluster endpoint URL is not valid"},
		{"endpoint without scheme", "--cluster-endpoint=example.com", "cluster endpoint URL is not valid"},
		{"negative overhead", "--vm-memory-overhead-percent=-0.1", "vm-memory-overhead-percent cannot be negative"},
		{"overhead that is no number", "--vm-memory-overhead-percent=NaN", "must be a number such as 0.075"},
		{"negative interfaces", "--reserved-enis=-1", "reserved-enis cannot be negative"},
		{"images too often", "--ami-refresh-interval=59s", "ami-refresh-interval must be at least 1m"},
		{"subnets too often", "--subnet-refresh-interval=59s", "subnet-refresh-interval must be at least 1m"},
		{"security groups too often", "--security-group-refresh-interval=59s", "security-group-refresh-interval must be at least 1m"},
		{"overhead is text", "--vm-memory-overhead-percent=ten", "a number such as 0.075"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := parse([]string{tc.arg}, lookup(nil)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
	for _, tc := range []struct{ name, flag, env, value, want string }{
		{"overhead in percent", "vm-memory-overhead-percent", "VM_MEMORY_OVERHEAD_PERCENT", "7.5", "must be a fraction from 0 to less than 1: write 0.075 for 7.5 percent"},
		{"all of the memory", "vm-memory-overhead-percent", "VM_MEMORY_OVERHEAD_PERCENT", "1", "must be a fraction from 0 to less than 1: write 0.01 for 1 percent"},
		{"more than all of the memory", "vm-memory-overhead-percent", "VM_MEMORY_OVERHEAD_PERCENT", "750", "must be a fraction from 0 to less than 1, for example 0.075"},
		{"negative overhead", "vm-memory-overhead-percent", "VM_MEMORY_OVERHEAD_PERCENT", "-0.1", "cannot be negative; it must be a fraction from 0 to less than 1"},
		{"negative interfaces", "reserved-enis", "RESERVED_ENIS", "-1", "cannot be negative; it must be from 0 to 100"},
		{"more interfaces than there are", "reserved-enis", "RESERVED_ENIS", "101", "must be from 0 to 100"},
	} {
		_, onFlag := parse([]string{"--" + tc.flag + "=" + tc.value}, lookup(nil))
		_, inEnv := parse(nil, lookup(map[string]string{tc.env: tc.value}))
		for source, err := range map[string]error{"flag": onFlag, "environment": inEnv} {
			for _, want := range []string{"--" + tc.flag, tc.env, " is " + tc.value + ":", tc.want} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s, %s: error %v, want %q", tc.name, source, err, want)
				}
			}
		}
	}
	both := []string{"--vm-memory-overhead-percent=7.5", "--reserved-enis=-1", "--ami-refresh-interval=1s", "--batch-max-duration=0s"}
	if _, err := parse(both, lookup(nil)); err == nil || strings.Count(err.Error(), "\n") != len(both)-1 {
		t.Errorf("several values: error %v, want %d lines", err, len(both))
	}
	for _, arg := range []string{"--vm-memory-overhead-percent=0", "--vm-memory-overhead-percent=0.999", "--reserved-enis=0", "--reserved-enis=100"} {
		if _, err := parse([]string{arg}, lookup(nil)); err != nil {
			t.Errorf("%s: %v", arg, err)
		}
	}
	nameless := options.Default(&Settings{})
	nameless.CloudProvider = Provider
	if err := nameless.Validate(); err == nil || !strings.Contains(err.Error(), "missing field, cluster-name") {
		t.Errorf("a cluster without name: %v", err)
	}
	nameless.Cluster.Name = "one"
	if err := nameless.Validate(); err != nil {
		t.Errorf("a cluster with a name: %v", err)
	}
}

func TestFeatureGates(t *testing.T) {
	t.Attr("covers", "A356 N306")
	for _, tc := range []struct {
		text string
		want FeatureGates
		ok   bool
	}{
		{"", FeatureGates{}, true},
		{" NodeClassCEL = true ", FeatureGates{NodeClassCEL: true}, true},
		{"NodeClassCEL=true,NodeClassCEL=false", FeatureGates{}, true},
		{"Other=true,NodeClassCEL=true", FeatureGates{NodeClassCEL: true, Unknown: "Other"}, true},
		{"Other=true,Another=false,Other=false", FeatureGates{Unknown: "Another,Other"}, true},
		{"DRANVIDIAGPU=true,DRAEFA=true", FeatureGates{DRANVIDIAGPU: true, DRAEFA: true}, true},
		{"NodeClassCEL=true,DRANVIDIAGPU=false,DRAEFA=false,RebootForRepair=true", FeatureGates{NodeClassCEL: true, RebootForRepair: true}, true},
		{"NodeClassCEL", FeatureGates{}, false},
		{"NodeClassCEL=", FeatureGates{}, false},
		{"NodeClassCEL=on", FeatureGates{}, false},
		{"Other=on", FeatureGates{}, false},
	} {
		for source, read := range map[string]func() (Settings, error){
			"flag":        func() (Settings, error) { return parse([]string{"--aws-feature-gates=" + tc.text}, lookup(nil)) },
			"environment": func() (Settings, error) { return parse(nil, lookup(map[string]string{"AWS_FEATURE_GATES": tc.text})) },
		} {
			got, err := read()
			if (err == nil) != tc.ok || (err == nil && got.FeatureGates != tc.want) {
				t.Errorf("%s %q: %+v, %v, want %+v, accepted %v", source, tc.text, got.FeatureGates, err, tc.want, tc.ok)
			}
		}
	}
}

// TestGatesWithoutEffectAreNamed: only the settings of the chosen provider count.
func TestGatesWithoutEffectAreNamed(t *testing.T) {
	t.Attr("covers", "N306")
	for _, tc := range []struct {
		provider, text string
		want           []string
	}{
		{"aws", "NodeClassCEL=true,RebootForRepair=false", nil},
		{"aws", "RebootForRepair=true,Other=false,DRAEFA=true", []string{"Other"}},
		{"kwok", "RebootForRepair=true", nil},
	} {
		o, err := options.Parse([]string{"--cloud-provider=" + tc.provider, "--cluster-name=one", "--aws-feature-gates=" + tc.text}, lookup(nil), &Settings{})
		if diff := cmp.Diff(tc.want, o.GatesWithoutEffect()); diff != "" || err != nil {
			t.Errorf("%s, %s: %v (-want +got)\n%s", tc.provider, tc.text, err, diff)
		}
	}
}

func TestGatesAreRenderedAsTheyAreRead(t *testing.T) {
	const text = "NodeClassCEL=true,DRANVIDIAGPU=false,DRAEFA=true,RebootForRepair=false"
	if gates, err := ParseFeatureGates(text); err != nil || gates.String() != text {
		t.Errorf("got %s, %v", gates, err)
	}
}
