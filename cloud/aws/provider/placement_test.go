package provider_test

import (
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
)

func TestPartitions(t *testing.T) {
	t.Attr("covers", "A190 A191")
	w := newWorld(t, "m5.large")
	hook := w.Cloud().Hooks[0]
	plain := w.create(w.claim())
	if result, err := hook.Registered(t.Context(), plain); err != nil || result.Pending() {
		t.Errorf("outside of any group: %+v, %v", result, err)
	}
	w.inPartitions(3)
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

// TestPartitionsThatAreLeft asks for partitions in every way that there is: EC2 has to be told one of those that are left, for it
// chooses among all when it is told none.
func TestPartitionsThatAreLeft(t *testing.T) {
	t.Attr("covers", "A191")
	partition := func(operator corev1.NodeSelectorOperator, values ...string) v1.NodeSelectorRequirementWithMinValues {
		return v1.NodeSelectorRequirementWithMinValues{Key: awsv1.LabelPlacementGroupPartition, Operator: operator, Values: values}
	}
	two := partition(corev1.NodeSelectorOpIn, "11", "2")
	for _, test := range []struct {
		name string
		asks []v1.NodeSelectorRequirementWithMinValues
		want int
	}{
		{"any", []v1.NodeSelectorRequirementWithMinValues{partition(corev1.NodeSelectorOpExists)}, 0},
		{"one of two, by number", []v1.NodeSelectorRequirementWithMinValues{two}, 2},
		{"all but one", []v1.NodeSelectorRequirementWithMinValues{partition(corev1.NodeSelectorOpNotIn, "1")}, 2},
		{"more than", []v1.NodeSelectorRequirementWithMinValues{partition(corev1.NodeSelectorOpGt, "3")}, 4},
		{"what two demands have in common", []v1.NodeSelectorRequirementWithMinValues{two, partition(corev1.NodeSelectorOpGt, "3")}, 11},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, "m5.large")
			w.inPartitions(12)
			created := w.create(w.claim(test.asks...))
			want := ""
			if test.want > 0 {
				want = strconv.Itoa(test.want)
			}
			if i := w.account.Instances()[0]; i.Partition != test.want || created.Labels[awsv1.LabelPlacementGroupPartition] != want {
				t.Errorf("EC2 was told %d, the label is %q, want %d", i.Partition, created.Labels[awsv1.LabelPlacementGroupPartition], test.want)
			}
		})
	}
	t.Run("the next one, when the first has run out", func(t *testing.T) {
		w := newWorld(t, "m5.large")
		w.inPartitions(12)
		w.account.RunOut(awstest.Pool{})
		if _, err := w.Create(t.Context(), w.claim(two)); !cloud.IsInsufficientCapacity(err) {
			t.Fatal(err)
		}
		w.account.Refill(awstest.Pool{})
		w.create(w.claim(two))
		if i := w.account.Instances()[0]; i.Partition != 11 {
			t.Errorf("EC2 was told partition %d, which has run out", i.Partition)
		}
	})
}

// inPartitions puts the class into a placement group with so many partitions.
func (w *world) inPartitions(count int) {
	w.t.Helper()
	name := "parts"
	w.account.AddPlacementGroup(awstest.PlacementGroup{ID: "pg-1", Name: name, Strategy: "partition", Partitions: count})
	w.resolve(func(c *awsv1.EC2NodeClass) {
		c.Spec.PlacementGroupSelector = &awsv1.PlacementGroupSelector{Name: &name}
	})
}
