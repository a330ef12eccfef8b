package aws

import (
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/cloud/aws/controlplane"
	"github.com/karpenter-anew/karpenter/cloud/aws/provider"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// testTelemetry is that of a process.
func testTelemetry() *observe.Telemetry {
	return &observe.Telemetry{Registry: prometheus.NewRegistry()}
}

func TestTheEndpoint(t *testing.T) {
	t.Attr("covers", "A357")
	account := awstest.New(awstest.Options{Types: []string{"m5.large", "m5.metal"}})
	config := awstest.Connect(t, account)
	start := func(s Settings) (controlplane.Facts, error) {
		s.ClusterName, s.Telemetry = "test", testTelemetry()
		opened, err := open(t.Context(), nil, s, config)
		if err != nil {
			return controlplane.Facts{}, err
		}
		return opened.Provider.(*provider.Provider).Cluster.Facts(), nil
	}
	if got, err := start(Settings{}); err != nil || got.Endpoint != "https://test.eks.example.com" {
		t.Errorf("found out: %q, %v", got.Endpoint, err)
	}
	account.Forget()
	if got, err := start(Settings{ClusterEndpoint: "https://given"}); err != nil || got.Endpoint != "https://given" || len(account.Calls("DescribeCluster")) != 0 {
		t.Errorf("given: %q, %v", got.Endpoint, err)
	}
	account.Fail("DescribeCluster", "AccessDeniedException", "no", 1)
	if _, err := start(Settings{}); err == nil {
		t.Error("started without endpoint")
	}
}

func TestWhatEndsTheStart(t *testing.T) {
	for _, call := range []string{"DescribeInstanceTypes", "DescribeInstanceTypeOfferings"} {
		account := awstest.New(awstest.Options{Types: []string{"m5.large", "m5.metal"}})
		account.Fail(call, "UnauthorizedOperation", "no", -1)
		if _, err := open(t.Context(), nil, Settings{ClusterName: "test", Telemetry: testTelemetry()}, awstest.Connect(t, account)); err == nil {
			t.Errorf("started without %s", call)
		}
	}
	account := awstest.New(awstest.Options{Types: []string{"m5.large", "m5.metal"}})
	account.Fail("GetProducts", "AccessDeniedException", "no", -1)
	if _, err := open(t.Context(), nil, Settings{ClusterName: "test", Telemetry: testTelemetry()}, awstest.Connect(t, account)); err != nil {
		t.Errorf("prices can be had later: %v", err)
	}
}

func TestIsolated(t *testing.T) {
	account := awstest.New(awstest.Options{Types: []string{"m5.large", "m5.metal"}})
	if _, err := open(t.Context(), nil, Settings{ClusterName: "test", IsolatedVPC: true, Telemetry: testTelemetry()}, awstest.Connect(t, account)); err != nil || len(account.Calls("GetProducts")) != 0 {
		t.Errorf("%v, %d calls", err, len(account.Calls("GetProducts")))
	}
}

// served is an API server that tells its version.
type served struct {
	info *version.Info
	err  error
}

// ServerVersion implements discovery.ServerVersionInterface.
func (s served) ServerVersion() (*version.Info, error) { return s.info, s.err }

func TestVersion(t *testing.T) {
	t.Attr("covers", "A353")
	account := awstest.New(awstest.Options{Types: []string{"m5.large", "m5.metal"}, Version: "1.33"})
	config := awstest.Connect(t, account)
	for eks, want := range map[bool]string{true: "1.33", false: "1.35"} {
		s := Settings{ClusterName: "test", EKSControlPlane: eks, Telemetry: testTelemetry()}
		opened, err := open(t.Context(), nil, s, config)
		if err != nil {
			t.Fatal(err)
		}
		p := opened.Provider.(*provider.Provider)
		e := &controllerSet{provider: p, settings: s}
		if err := e.discoverVersion(t.Context(), served{info: &version.Info{Major: "1", Minor: "35+"}}); err != nil || p.Cluster.Facts().Version != want {
			t.Errorf("version %q, %v, want %q", p.Cluster.Facts().Version, err, want)
		}
	}
	e := &controllerSet{provider: &provider.Provider{Options: provider.Options{Cluster: controlplane.New("test", nil)}}}
	if err := e.discoverVersion(t.Context(), served{err: errors.New("no")}); err == nil {
		t.Error("a version that cannot be had is not told")
	}
}

func TestWithoutAnAccount(t *testing.T) {
	c := Unopened()
	if c.Name != "aws" || !c.Manages(&v1.NodeClassReference{Group: "karpenter.k8s.aws", Kind: "EC2NodeClass"}) || !c.Labels.WellKnown["karpenter.k8s.aws/instance-family"] {
		t.Errorf("%+v", c)
	}
	p := c.Provider
	if _, err := p.InstanceTypes(t.Context(), &v1.NodePool{}); err == nil {
		t.Error("there are instance types without an account")
	}
}

// TestTheClockIsThatOfControllers: what is written for controllers, such as the deadline of an interrupted node, and compared with times of
// the API server follows the same clock as theirs.
func TestTheClockIsThatOfControllers(t *testing.T) {
	account := awstest.New(awstest.Options{Types: []string{"m5.large", "m5.metal"}})
	now := clocktesting.NewFakeClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	opened, err := open(t.Context(), nil, Settings{ClusterName: "test", Telemetry: testTelemetry(), Clock: now}, awstest.Connect(t, account))
	if err != nil {
		t.Fatal(err)
	}
	p := opened.Provider.(*provider.Provider)
	for part, got := range map[string]clock.PassiveClock{"provider": p.Clock, "finder": p.Catalog.Finder.Clock} {
		if got != clock.PassiveClock(now) {
			t.Errorf("the clock of the %s is %T", part, got)
		}
	}
}
