package simulate

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/internal/simulation/report"
	"github.com/karpenter-anew/karpenter/test/commandtest"
)

// simulate runs "karpenter simulate" without the environment of the host.
func simulate(stdin string, args ...string) commandtest.Outcome {
	return commandtest.Run(line(), stdin, append([]string{"simulate"}, args...)...)
}

// line is a command line with karpenter simulate.
func line() any {
	return &struct {
		Simulate Command `cmd:""`
	}{New(commandtest.Binary())}
}

// TestSimulate runs the cases of testdata twice.
func TestSimulate(t *testing.T) {
	commandtest.Cases(t, "testdata", func(t *testing.T, stdin string, args []string) commandtest.Outcome {
		got := simulate(stdin, args...)
		if diff := cmp.Diff(got, simulate(stdin, args...)); diff != "" {
			t.Errorf("a second run differs:\n%s", diff)
		}
		return got
	})
}

// TestSimulateFormatsAgree checks that YAML says what JSON says.
func TestSimulateFormatsAgree(t *testing.T) {
	example := "../../../examples/simulate/web-shop.yaml"
	var fromJSON, fromYAML any
	if err := json.Unmarshal([]byte(simulate("", "-f", example, "-o", "json").Stdout), &fromJSON); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(simulate("", "-f", example, "-o", "yaml").Stdout), &fromYAML); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fromJSON, fromYAML); diff != "" || fromJSON == nil {
		t.Errorf("(-JSON +YAML)\n%s", diff)
	}
}

// TestSimulateExamples checks the exit codes that the examples document.
func TestSimulateExamples(t *testing.T) {
	for file, want := range map[string]string{"web-shop.yaml": "0\n", "does-not-fit.yaml": "3\n", "overlays.yaml": "0\n"} {
		if got := simulate("", "-f", "../../../examples/simulate/"+file); got.Exit != want {
			t.Errorf("%s: exit code %s, want %s%s%s", file, got.Exit, want, got.Stdout, got.Stderr)
		}
	}
}

// TestSimulateExampleWithDevices checks the command that the example and its page show.
func TestSimulateExampleWithDevices(t *testing.T) {
	const example = "../../../examples/simulate/devices.yaml"
	got := simulate("", "-f", example, "--catalog", "devices", "--ignore-dra-requests=false", "-o", "json")
	var r report.Report
	if err := json.Unmarshal([]byte(got.Stdout), &r); err != nil || got.Exit != "0\n" {
		t.Fatalf("exit code %s, %v%s", got.Exit, err, got.Stderr)
	}
	for _, l := range r.Launches {
		for _, n := range l.Nodes {
			if len(n.Devices) != len(n.Pods) {
				t.Errorf("%d devices for %d pods", len(n.Devices), len(n.Pods))
			}
		}
	}
	if got := simulate("", "-f", example, "--catalog", "devices"); got.Exit != "3\n" || !strings.Contains(got.Stdout, "--ignore-dra-requests=false") {
		t.Errorf("without the flag: exit code %s%s", got.Exit, got.Stdout)
	}
}

// TestSimulateExamplesOnAWS checks that the examples for AWS are answered as the page about simulations says.
func TestSimulateExamplesOnAWS(t *testing.T) {
	const pod = "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default}, spec: {containers: [{name: a, resources: {requests: {cpu: 500m}}}]}}"
	got := simulate(pod, "-f", "../../../examples/aws", "-f", "-", "--catalog", "aws/eu-west-1", "-o", "json")
	var r report.Report
	if err := json.Unmarshal([]byte(got.Stdout), &r); err != nil || got.Exit != "0\n" {
		t.Fatalf("exit code %s, %v%s", got.Exit, err, got.Stderr)
	}
	if len(r.Launches) != 1 || r.Launches[0].NodePool != "default" || !strings.HasPrefix(r.Launches[0].Zones[0], "eu-west-1") || r.Launches[0].PricePerHour <= 0 || len(r.Launches[0].Alternatives) < 100 {
		t.Errorf("launches %+v", r.Launches)
	}
	if len(r.UnusedPools) != 1 || r.UnusedPools[0].Name != "two-types" { // it is bound to zones of another region
		t.Errorf("unused pools %+v", r.UnusedPools)
	}
	if got := simulate(pod, "-f", "../../../examples/aws", "-f", "-", "--catalog", "aws/nowhere-1"); got.Exit != "2\n" || !strings.Contains(got.Stderr, "aws/eu-west-1") {
		t.Errorf("an unknown region: exit code %s%s", got.Exit, got.Stderr)
	}
	if got := simulate(pod, "-f", "../../../examples/aws", "-f", "-", "--cloud-provider", "kwok"); got.Exit != "3\n" {
		t.Errorf("another cloud: exit code %s%s", got.Exit, got.Stdout)
	}
}

// TestSimulateSaysThatDevicesAreNotPredicted: on AWS, the plan leaves out devices that the controller may expect on new nodes.
func TestSimulateSaysThatDevicesAreNotPredicted(t *testing.T) {
	const claims = `
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {selectors: [{cel: {expression: device.driver == "gpu.nvidia.com"}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu, namespace: default}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: train, namespace: default}
spec:
  resourceClaims: [{name: gpu, resourceClaimTemplateName: one-gpu}]
  containers: [{name: a, resources: {requests: {cpu: 500m}, claims: [{name: gpu}]}}]
`
	const plain = "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default}, spec: {containers: [{name: a, resources: {requests: {cpu: 500m}}}]}}"
	const note = "GPUs and EFA interfaces of new nodes are not predicted"
	for _, c := range []struct {
		name, input string
		flags       []string
		noted       bool
	}{
		{"claims", claims, []string{"--ignore-dra-requests=false"}, true},
		{"claims are rejected", claims, nil, false},
		{"no claims", plain, []string{"--ignore-dra-requests=false"}, false},
	} {
		got := simulate(c.input, append([]string{"-f", "../../../examples/aws/nodepool.yaml", "-f", "-", "--catalog", "aws/eu-west-1"}, c.flags...)...)
		if strings.Contains(got.Stdout, note) != c.noted {
			t.Errorf("%s: exit code %s, want the note: %t\n%s%s", c.name, got.Exit, c.noted, got.Stdout, got.Stderr)
		}
	}
}

// TestSimulateASnapshotOfAWS checks that classes of EC2 are not assumed where a snapshot holds none: there are none.
func TestSimulateASnapshotOfAWS(t *testing.T) {
	pool, err := os.ReadFile("../../../examples/aws/nodepool.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got := simulate(string(pool), "--snapshot", "-", "--catalog", "aws/us-west-2")
	if got.Exit != "0\n" || !strings.Contains(got.Stdout, `EC2NodeClass "default" does not exist`) || strings.Contains(got.Stdout, "assumed") {
		t.Errorf("exit code %s%s%s", got.Exit, got.Stdout, got.Stderr)
	}
}

// TestSimulateReportsWhatCannotBeWritten makes a full disk a failure.
func TestSimulateReportsWhatCannotBeWritten(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	var stderr bytes.Buffer
	if code := commandtest.Code(line(), command.Streams{In: strings.NewReader(""), Out: full, Err: &stderr}, "simulate", "../../../examples/simulate/web-shop.yaml"); code != command.ExitFailed {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
}
