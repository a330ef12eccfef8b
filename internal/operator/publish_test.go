package operator

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws"
	"github.com/karpenter-anew/karpenter/cloud/aws/settings"
	"github.com/karpenter-anew/karpenter/cloud/kwok"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// publishing runs a publisher against an API server in memory until the test ends. The first failures writes fail.
func publishing(t *testing.T, failures int, data map[string]string) (client.Client, *bytes.Buffer) {
	t.Helper()
	server := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			if failures > 0 {
				failures--
				return errors.New("configmaps is forbidden")
			}
			return c.Apply(ctx, o, opts...)
		},
	}).Build()
	log := &bytes.Buffer{}
	p := &publisher{client: server, clock: clock.RealClock{}, log: slog.New(slog.NewTextHandler(log, nil)), namespace: "infra", data: data}
	if !p.NeedLeaderElection() {
		t.Error("a replica that is not the leader publishes its settings")
	}
	go func() {
		if err := p.Start(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	return server, log
}

// inCluster is the ConfigMap, or nil.
func inCluster(t *testing.T, c client.Client) *corev1.ConfigMap {
	t.Helper()
	var found corev1.ConfigMap
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "infra", Name: options.PublishedName}, &found); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	} else if err != nil {
		return nil
	}
	return &found
}

// The tests below run in synctest bubbles: to sleep there advances a clock that is not the real one.

func TestSettingsArePublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, _ := publishing(t, 0, map[string]string{"catalog": "generic"})
		synctest.Wait()
		found := inCluster(t, server)
		if found == nil || found.Labels[options.PublishedLabel] == "" || !cmp.Equal(found.Data, map[string]string{"catalog": "generic"}) {
			t.Fatalf("published %+v", found)
		}
		found.Data["catalog"] = "devices"
		if err := server.Update(t.Context(), found); err != nil {
			t.Fatal(err)
		}
		time.Sleep(publishPeriod + time.Second) // of the bubble: no real time passes
		if found = inCluster(t, server); found.Data["catalog"] != "generic" {
			t.Errorf("an hour after a user changed it, it is %q", found.Data["catalog"])
		}
	})
}

func TestPublishingIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, log := publishing(t, 3, map[string]string{"catalog": "generic"})
		time.Sleep(7*publishRetry - time.Second) // of the bubble
		if found := inCluster(t, server); found != nil {
			t.Errorf("published before the third retry: %+v", found)
		}
		time.Sleep(2 * time.Second) // of the bubble
		if inCluster(t, server) == nil {
			t.Error("not published with the third retry")
		}
		if n := strings.Count(log.String(), "publishing settings failed, retrying"); n != 1 {
			t.Errorf("the same failure is logged %d times:\n%s", n, log)
		}
	})
}

func TestPublishingNeedsANamespace(t *testing.T) {
	log := &bytes.Buffer{}
	p := &publisher{log: slog.New(slog.NewTextHandler(log, nil))}
	if err := p.Start(t.Context()); err != nil || !strings.Contains(log.String(), "--leader-election-namespace") {
		t.Errorf("%v, logged: %s", err, log)
	}
}

// TestOnlySettingsOfPlansArePublished lists what is published, with no other setting, whatever the others are.
func TestOnlySettingsOfPlansArePublished(t *testing.T) {
	parse := func(args ...string) options.Options {
		o, err := options.Parse(args, func(string) (string, bool) { return "", false }, &settings.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	build := observe.Build{Version: "1.2.3", Commit: "abc1234"}
	got, err := published(parse("--catalog=aws/us-east-1", "--feature-gates=NodeOverlay=true", "--preference-policy=Ignore", "--scheduler-config="+
		"podTopologySpread: {defaultConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]}", "--kubeconfig=secret"),
		Process{Provider: kwok.Provider(), Build: build}, cloud.Cloud{})
	gates := "NodeRepair=false,ReservedCapacity=true,SpotToSpotConsolidation=false,NodeOverlay=true,StaticCapacity=false,CapacityBuffer=false," +
		"TerminateFirstDrift=false,TerminateFirstRepair=false,PodDeletionCostManagement=false,LegacyProvisioner=false,TaintTolerationComparisonOperators=false,OperationsPolicy=false,NominatedNodeName=false"
	want := map[string]string{
		"version": "1.2.3", "commit": "abc1234", "cloud-provider": "kwok", "catalog": "aws/us-east-1", "feature-gates": gates,
		"preference-policy": "Ignore", "min-values-policy": "Strict", "consolidate-after-scope": "SourceAndDestination", "ignore-dra-requests": "true", "pod-groups": "Auto", "batch-max-duration": "10s", "batch-idle-duration": "1s",
		"scheduler-config": "podTopologySpread:\n  defaultConstraints:\n  - maxSkew: 1\n    topologyKey: zone\n    whenUnsatisfiable: ScheduleAnyway\n",
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("kwok: %v (-want +got)\n%s", err, diff)
	}
	got, err = published(parse("--cloud-provider=aws", "--cluster-name=one", "--cluster-endpoint=https://secret", "--cluster-ca-bundle=secret",
		"--interruption-queue=secret", "--reserved-enis=1"), Process{Provider: aws.Provider(), Build: build}, cloud.Cloud{})
	for _, key := range []string{"catalog", "scheduler-config"} {
		delete(want, key)
	}
	want["cloud-provider"], want["preference-policy"], want["feature-gates"] = "aws", "Respect", strings.Replace(gates, "NodeOverlay=true", "NodeOverlay=false", 1)
	want["cluster-name"], want["isolated-vpc"], want["reserved-enis"] = "one", "false", "1"
	want["vm-memory-overhead-percent"], want["aws-feature-gates"] = "0.075", "NodeClassCEL=false,DRANVIDIAGPU=false,DRAEFA=false,RebootForRepair=false"
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("aws: %v (-want +got)\n%s", err, diff)
	}
}
