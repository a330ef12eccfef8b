package provider_test

import (
	"testing"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
)

func TestPartitions_A190_A191(t *testing.T) {
	w := newWorld(t, "m5.large")
	hook := w.Cloud().Hooks[0]
	plain := w.create(w.claim())
	if result, err := hook.Registered(t.Context(), plain); err != nil || result.Pending() {
		t.Errorf("outside of any group: %+v, %v", result, err)
	}
	w.account.AddPlacementGroup(awstest.PlacementGroup{ID: "pg-1", Name: "parts", Strategy: "partition", Partitions: 3})
	name := "parts"
	w.resolve(func(c *awsv1.EC2NodeClass) {
		c.Spec.PlacementGroupSelector = &awsv1.PlacementGroupSelector{Name: &name}
	})
	open := w.create(w.claim())
	partition, ok := open.Labels[awsv1.LabelPlacementGroupPartition]
	if open.Labels[awsv1.LabelPlacementGroupID] != "pg-1" || !ok || partition != "" {
		t.Errorf("labels %v", open.Labels)
	}
	if result, err := hook.Registered(t.Context(), open); err != nil || !result.Pending() {
		t.Errorf("before the partition is known: %+v, %v", result, err)
	}
	w.account.Change(w.account.Instances()[1].ID, func(i *awstest.Instance) { i.Partition = 3 })
	if result, err := hook.Registered(t.Context(), open); err != nil || result.Pending() || open.Labels[awsv1.LabelPlacementGroupPartition] != "3" {
		t.Errorf("when it is known: %+v, %v, %v", result, err, open.Labels)
	}
	asked := w.create(w.claim(cloud.In(awsv1.LabelPlacementGroupPartition, "2")))
	if i := w.account.Instances()[2]; asked.Labels[awsv1.LabelPlacementGroupPartition] != "2" || i.Partition != 2 || i.PlacementGroup != "pg-1" {
		t.Errorf("labels %v of %+v", asked.Labels, i)
	}
	w.account.Forget()
	if result, err := hook.Registered(t.Context(), asked); err != nil || result.Pending() || len(w.account.Calls("")) != 0 {
		t.Errorf("a partition that was asked for: %+v, %v", result, err)
	}
}
