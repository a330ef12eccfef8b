package main

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/internal/options"
)

func TestCommandLine(t *testing.T) {
	type env map[string]string
	for _, tc := range []struct {
		name           string
		args           []string
		env            env
		code           int
		stdout, stderr []string
	}{
		{"nothing", nil, nil, 2, nil, []string{"Usage: karpenter <command>", "controller", "version"}},
		{"unknown command", []string{"controler"}, nil, 2, nil, []string{`unknown command "controler", did you mean "controller"?`, "Usage: karpenter <command>"}},
		{"flag without command", []string{"--metrics-port=1"}, nil, 2, nil, []string{`unknown command "--metrics-port=1"`, "Usage"}},
		{"help", []string{"--help"}, nil, 0, []string{"Usage: karpenter <command>", "controller", "simulate", "version"}, nil},
		{"short help", []string{"-h"}, nil, 0, []string{"Usage: karpenter <command>"}, nil},
		{"help as a command", []string{"help"}, nil, 0, []string{"Usage: karpenter <command>"}, nil},
		{"version", []string{"version"}, nil, 0, []string{"karpenter ", " go1.", runtime.GOOS + "/" + runtime.GOARCH + ", Kubernetes up to 1."}, nil},
		{"version as a flag", []string{"--version"}, nil, 0, []string{"karpenter ", " go1.", "Kubernetes up to 1."}, nil},
		{"version as a flag, in JSON", []string{"--version", "-o", "json"}, nil, 0, []string{`"goVersion": "go1.`, `"kubernetesNewest": "1.`}, nil},
		{"version in a format that does not exist", []string{"version", "-o", "xml"}, nil, 2, nil, []string{`karpenter version: flag --output="xml": allowed: text, json, yaml, jsonpath=TEMPLATE`}},
		{"completion", []string{"completion", "bash"}, nil, 0, []string{"complete -o default -F _karpenter karpenter\n", "--cloud-provider", "'controller demo simulate"}, nil},
		{"completion without a shell", []string{"completion"}, nil, 2, nil, []string{`karpenter completion: missing argument: "karpenter completion" needs <shell>`}},
		{"completion for an unknown shell", []string{"completion", "tcsh"}, nil, 2, nil, []string{`karpenter completion: argument <shell> is "tcsh": allowed: bash, zsh, fish`}},
		{"version with a stray word", []string{"version", "x"}, nil, 2, nil, []string{`karpenter version: unexpected argument "x": "karpenter version --help" shows`}},
		{"help of the controller", []string{"controller", "--help"}, nil, 0, []string{"Usage: karpenter controller", "\nScheduling\n", "\nLeader election\n", "[$METRICS_PORT]", "SIGTERM"}, nil},
		{"help of the simulation", []string{"simulate", "--help"}, nil, 0, []string{"Usage: karpenter simulate", "Exit codes", "--filename=FILE_OR_DIR", "[$CATALOG]"}, nil},
		{"catalogue from the environment", []string{"simulate", "-f", "-"}, env{"CATALOG": "nope"}, 2, nil, []string{`unknown catalog "nope"`}},
		{"bad flag", []string{"controller", "--metrics-port=x"}, nil, 2, nil, []string{`karpenter controller: flag --metrics-port="x": must be a whole number`}},
		{"bad variable", []string{"controller"}, env{"METRICS_PORT": "x"}, 2, nil, []string{`environment variable METRICS_PORT="x" (flag --metrics-port): must be a whole number`}},
		{"flag hides a bad variable", []string{"controller", "--metrics-port=70000"}, env{"METRICS_PORT": "x"}, 2, nil, []string{"70000"}},
		{"unknown gate", []string{"controller", "--feature-gates=Foo=true"}, nil, 2, nil, []string{"--feature-gates", `unknown feature gate "Foo"`, "known gates: NodeRepair"}},
		{"unknown gate in the environment", []string{"controller"}, env{"FEATURE_GATES": "Foo=true"}, 2, nil, []string{"FEATURE_GATES", `unknown feature gate "Foo"`}},
		{"bad combination", []string{"controller", "--metrics-port=-1", "--kube-client-qps=0"}, nil, 2, nil, []string{"karpenter controller: flag --metrics-port", "karpenter controller: flag --kube-client-qps"}},
		{"unknown flag", []string{"controller", "--metric-port=1"}, nil, 2, nil, []string{"--metric-port", "did you mean", "--metrics-port"}},
		{"missing value", []string{"controller", "--metrics-port"}, nil, 2, nil, []string{"flag --metrics-port needs a value"}},
		{"missing value before a flag", []string{"diff", "--at", "--horizon=1h"}, nil, 2, nil, []string{"flag --at needs a value"}},
		{"unknown flag unlike all others", []string{"explain", "--colour"}, nil, 2, nil, []string{`karpenter explain: unknown flag --colour: "karpenter explain --help" lists the flags`}},
		{"no duration", []string{"diff", "--horizon=x"}, nil, 2, nil, []string{`flag --horizon="x": must be a duration such as`}},
		{"no time", []string{"diff", "--at=x"}, nil, 2, nil, []string{`flag --at="x": must be a time such as 2026-01-02T15:04:05Z`}},
		{"no number", []string{"ledger", "--dir=.", "--limit=x"}, nil, 2, nil, []string{`flag --limit="x": must be a whole number`}},
		{"no truth value", []string{"snapshot", "--redact=x"}, nil, 2, nil, []string{`flag --redact="x": must be true or false`}},
		{"flags that exclude each other", []string{"ledger", "--dir=.", "--address=http://x"}, nil, 2, nil, []string{"--dir and --address cannot be used together"}},
		{"no argument", []string{"explain", "pod"}, nil, 2, nil, []string{`missing argument: "karpenter explain pod" needs <name>`}},
		{"no namespace for the lease", []string{"controller", "--kubeconfig=testdata/kubeconfig.yaml"}, nil, 1, nil, []string{"--leader-election-namespace"}},
		{"no such kubeconfig", []string{"controller", "--kubeconfig=/does/not/exist"}, nil, 1, nil, []string{"--kubeconfig=/does/not/exist"}},
		{"log file that cannot be opened", []string{"controller", "--log-output-paths=/does/not/exist/log"}, nil, 1, nil, []string{"opening log output", "/does/not/exist/log"}},
		{"unknown catalogue", []string{"controller", "--kubeconfig=testdata/kubeconfig.yaml", "--disable-leader-election", "--metrics-port=0", "--health-probe-port=0", "--catalog=nope"}, nil, 1, nil, []string{"cloud provider", "nope"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			lookup := func(name string) (string, bool) { v, ok := tc.env[name]; return v, ok }
			if code := run(tc.args, lookup, command.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr}); code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			for _, want := range tc.stdout {
				if !strings.Contains(stdout.String(), want) {
					t.Errorf("stdout lacks %q:\n%s", want, &stdout)
				}
			}
			for _, want := range tc.stderr {
				if !strings.Contains(stderr.String(), want) {
					t.Errorf("stderr lacks %q:\n%s", want, &stderr)
				}
			}
			if tc.code == 0 && stderr.Len() > 0 {
				t.Errorf("stderr of a success: %s", &stderr)
			}
		})
	}
}

func TestProvidersRegisterWhatIsRequired(t *testing.T) {
	seen := map[options.CloudProvider]bool{}
	for _, p := range providers() {
		if p.Name == "" || seen[p.Name] {
			t.Errorf("the name %q is empty or taken", p.Name)
		}
		seen[p.Name] = true
		if len(p.NodeClasses) == 0 || p.AddToScheme == nil || p.Definitions == nil || p.Open == nil || p.Offline == nil {
			t.Errorf("provider %s leaves out what is required: %+v", p.Name, p)
		}
		if p.Settings != nil && p.Settings().Provider() != p.Name {
			t.Errorf("the settings of provider %s are of %s", p.Name, p.Settings().Provider())
		}
	}
	if providers()[0].Name != options.Default().CloudProvider {
		t.Errorf("the first provider is %s, not the default", providers()[0].Name)
	}
}
