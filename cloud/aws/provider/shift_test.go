package provider_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/cloud/aws/instance"
)

// in says where a claim has to be.
func in(zone string) v1.NodeSelectorRequirementWithMinValues {
	return cloud.In(corev1.LabelTopologyZone, zone)
}

// shift shifts traffic away from zones, and from no others.
func (w *world) shift(zoneIDs ...string) {
	w.t.Helper()
	var all []awstest.Shift
	for _, id := range zoneIDs {
		all = append(all, awstest.Shift{ZoneID: id, Ends: w.clock.Now().Add(time.Hour)})
	}
	w.account.SetShifts(all...)
	if err := w.Catalog.Shifts.Refresh(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

func TestShiftedZonesAreLeftAlone(t *testing.T) {
	t.Attr("covers", "A330")
	w := newWorld(t, "m5.large")
	ctx := t.Context()
	there, elsewhere := w.create(w.claim(in("us-east-1a"))), w.create(w.claim(in("us-east-1b")))
	id, _ := instance.ParseProviderID(there.Status.ProviderID)
	if _, err := w.List(ctx); err != nil {
		t.Fatal(err)
	}
	w.shift("use1-az1")
	w.account.Forget()

	// What EC2 says of the zone does not count.
	w.account.Change(id, func(i *awstest.Instance) { i.State = "terminated" })
	if _, err := w.Get(ctx, there.Status.ProviderID); err != nil || len(w.account.Calls("DescribeInstances")) != 0 {
		t.Errorf("%v; %d calls", err, len(w.account.Calls("DescribeInstances")))
	}
	for range 2 {
		if found, err := w.List(ctx); err != nil || len(found) != 2 {
			t.Errorf("%d are known, %v", len(found), err)
		}
	}
	// Nothing is done to it, and that is no failure.
	err := w.Delete(ctx, there)
	if !errors.Is(err, instance.ErrShifted) || !strings.Contains(err.Error(), id) || !strings.Contains(err.Error(), "us-east-1a") || len(w.account.Calls("TerminateInstances")) != 0 {
		t.Errorf("%v; %d calls", err, len(w.account.Calls("TerminateInstances")))
	}
	if n := testutil.CollectAndCount(w.Metrics.TerminationFailures); n != 0 {
		t.Errorf("%d failures", n)
	}
	tags := []ec2types.Tag{{Key: aws.String("a"), Value: aws.String("b")}}
	if err := w.Instances.Tag(ctx, id, tags); !errors.Is(err, instance.ErrShifted) || len(w.account.Calls("CreateTags")) != 0 {
		t.Errorf("%v; %d calls", err, len(w.account.Calls("CreateTags")))
	}
	// Others are not touched by that.
	if _, err := w.Get(ctx, elsewhere.Status.ProviderID); err != nil || len(w.account.Calls("TerminateInstances")) != 0 {
		t.Error(err)
	}
	if err := w.Delete(ctx, elsewhere); err != nil || len(w.account.Calls("TerminateInstances")) != 1 {
		t.Errorf("%v; %d calls", err, len(w.account.Calls("TerminateInstances")))
	}
	w.shift()
	if _, err := w.Get(ctx, there.Status.ProviderID); !cloud.IsNodeClaimNotFound(err) {
		t.Errorf("after the shift: %v", err)
	}
}

func TestNothingIsLaunchedInShiftedZones(t *testing.T) {
	w := newWorld(t, "m5.large")
	open := func(zone string) bool {
		t.Helper()
		types, err := w.Catalog.Types(t.Context(), w.class)
		if err != nil {
			t.Fatal(err)
		}
		out := false
		for _, it := range types {
			for _, o := range it.Offerings {
				out = out || o.Zone() == zone && o.Available
			}
		}
		return out
	}
	if !open("us-east-1a") {
		t.Fatal("the zone is closed anyhow")
	}
	w.shift("use1-az1")
	if open("us-east-1a") || !open("us-east-1b") {
		t.Error("the shifted zone is open, or another one closed")
	}
	if _, err := w.Create(t.Context(), w.claim(in("us-east-1a"))); !cloud.IsInsufficientCapacity(err) {
		t.Errorf("launched, or %v", err)
	}
	w.shift("use1-az2")
	if !open("us-east-1a") || open("us-east-1b") {
		t.Error("the shift did not move on")
	}
	w.clock.Step(time.Hour)
	if !open("us-east-1b") {
		t.Error("the shift does not end by itself")
	}
}

func TestFailedEndsAreCounted(t *testing.T) {
	t.Attr("covers", "A331")
	w := newWorld(t, "m5.large")
	claim := w.create(w.claim(in("us-east-1b")))
	w.account.Fail("TerminateInstances", "UnauthorizedOperation", "no", -1)
	for range 2 {
		if err := w.Delete(t.Context(), claim); err == nil {
			t.Error("it ended")
		}
	}
	zoneID := claim.Labels[awsv1.LabelZoneID]
	if got := testutil.ToFloat64(w.Metrics.TerminationFailures.WithLabelValues("us-east-1b", zoneID)); got != 2 || zoneID != "use1-az2" {
		t.Errorf("%v failures in %q", got, zoneID)
	}
	w.account.Recover("TerminateInstances")
	if err := w.Delete(t.Context(), claim); err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(w.Metrics.TerminationFailures); n != 1 {
		t.Errorf("%d zones have failures", n)
	}
}
