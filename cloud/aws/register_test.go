package aws

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/version"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/karpenter-anew/karpenter/cloud/aws/catalog"
	"github.com/karpenter-anew/karpenter/cloud/aws/controlplane"
	"github.com/karpenter-anew/karpenter/cloud/aws/profile"
	"github.com/karpenter-anew/karpenter/cloud/aws/provider"
)

// TestPeriodsOfTasks lists the periodic tasks and how long after a success each runs again.
func TestPeriodsOfTasks(t *testing.T) {
	t.Attr("covers", "A347")
	e := &controllerSet{
		provider: provider.New(provider.Options{Options: catalog.Options{Clock: clocktesting.NewFakeClock(time.Now())}, Cluster: controlplane.New("test", nil)}),
		profiles: profile.NewManager(profile.Options{}),
	}
	got := map[string]time.Duration{}
	for _, job := range e.jobs(nil) {
		got[job.Name] = job.Every(1)
	}
	for name, want := range map[string]time.Duration{
		"instanceprofile.garbagecollection": 30 * time.Minute, "providers.ssm.invalidation": 30 * time.Minute, "cloudprovider.metrics": time.Minute,
		"providers.pricing": 12 * time.Hour, "providers.pricing.spot": 12 * time.Hour, "providers.instancetype": 12 * time.Hour, "providers.version": 5 * time.Minute,
	} {
		if diff := cmp.Diff(want, got[name]); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
	e.profiles = nil
	for _, job := range e.jobs(nil) {
		if job.Name == "instanceprofile.garbagecollection" {
			t.Error("profiles are collected without access to IAM")
		}
	}
}

func TestUnknownVersionsAreReportedOnce(t *testing.T) {
	var out bytes.Buffer
	ctx := log.IntoContext(t.Context(), logr.FromSlogHandler(slog.NewTextHandler(&out, nil)))
	e := &controllerSet{provider: &provider.Provider{Options: provider.Options{Cluster: controlplane.New("test", nil)}}}
	for _, step := range []struct {
		minor string
		told  bool
	}{{"25", true}, {"25", false}, {"26", false}, {"37+", false}, {"38", true}, {"38", false}} {
		out.Reset()
		if err := e.discoverVersion(ctx, served{info: &version.Info{Major: "1", Minor: step.minor}}); err != nil {
			t.Fatal(err)
		}
		if told := strings.Contains(out.String(), "karpenter is not compatible with kubernetes version"); told != step.told {
			t.Errorf("1.%s: told %t, want %t", step.minor, told, step.told)
		}
	}
}
