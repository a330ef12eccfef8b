package legacy_test

import (
	"testing"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/api/condition"
	kwok "github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	"github.com/karpenter-anew/karpenter/api/legacy/v1alpha1"
	"github.com/karpenter-anew/karpenter/api/legacy/v1alpha5"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
)

// TestNotReadyIsReported: a Provisioner whose pool cannot launch reports the message of the class; readiness is reported too.
func TestNotReadyIsReported(t *testing.T) {
	p := provisioner()
	p.Spec.ProviderRef = &v1alpha5.ProviderRef{Name: "aws"}
	w := newAWSHarness(t, p, template())
	w.run()
	if got := w.active(p); got != "True/Active/" {
		t.Errorf("before anything is judged, Active is %s", got)
	}
	judge := func(subnets bool) {
		fakecluster.Change(w.Cluster, class("aws"), func(c *awsv1.EC2NodeClass) {
			set := condition.For(c, w.Clock.Now())
			for _, kind := range c.ConditionTypes().Dependents {
				set.True(kind)
			}
			if !subnets {
				set.False(awsv1.ConditionTypeSubnetsReady, "SubnetsNotFound", "no subnets match")
			}
		})
		fakecluster.Change(w.Cluster, pool(), func(p *v1.NodePool) {
			set := condition.For(p, w.Clock.Now())
			set.True(v1.ConditionTypeValidationSucceeded)
			set.True(v1.ConditionTypeNodeClassReady)
			if !subnets {
				set.False(v1.ConditionTypeNodeClassReady, "UnhealthyDependents", "SubnetsReady=False")
			}
		})
		w.run()
	}
	judge(false)
	if got, want := w.active(p), "False/NotReady/NodePool default is not ready: EC2NodeClass aws: SubnetsReady: no subnets match"; got != want {
		t.Errorf("Active is %s, want %s", got, want)
	}
	got := fakecluster.Condition(fakecluster.Must(w.Cluster, template()).Status.Conditions, v1alpha1.ConditionTypeActive)
	if want := "False/NotReady/EC2NodeClass aws is not ready: SubnetsReady: no subnets match"; got != want {
		t.Errorf("Active of the template is %s, want %s", got, want)
	}
	if events := w.Events(); len(events) > 0 {
		t.Errorf("events %q, though nothing is refused", events)
	}
	judge(true)
	if got := w.active(p); got != "True/Active/" {
		t.Errorf("Active is %s once the class is ready", got)
	}
}

// TestMissingClassIsReported: the message of the pool is reported when there is no class.
func TestMissingClassIsReported(t *testing.T) {
	p := provisioner()
	p.Spec.ProviderRef = &v1alpha5.ProviderRef{Name: "elsewhere"}
	w := newAWSHarness(t, p)
	w.run()
	fakecluster.Change(w.Cluster, pool(), func(p *v1.NodePool) {
		condition.For(p, w.Clock.Now()).False(v1.ConditionTypeNodeClassReady, "NodeClassNotFound", "NodeClass not found on cluster")
	})
	w.run()
	if got, want := w.active(p), "False/NotReady/NodePool default is not ready: NodeClassReady: NodeClass not found on cluster"; got != want {
		t.Errorf("Active is %s, want %s", got, want)
	}
}

// TestClassThatOnlySaysThatItIsNotReady: the class has no condition except Ready.
func TestClassThatOnlySaysThatItIsNotReady(t *testing.T) {
	w := newHarness(t, provisioner())
	w.run()
	fakecluster.Change(w.Cluster, ownClass(), func(c *kwok.KWOKNodeClass) {
		condition.For(c, w.Clock.Now()).False(c.ConditionTypes().Root, "Broken", "no instances")
	})
	fakecluster.Change(w.Cluster, pool(), func(p *v1.NodePool) {
		condition.For(p, w.Clock.Now()).False(v1.ConditionTypeNodeClassReady, "Broken", "no instances")
	})
	w.run()
	if got, want := w.active(provisioner()), "False/NotReady/NodePool default is not ready: KWOKNodeClass default: Ready: no instances"; got != want {
		t.Errorf("Active is %s, want %s", got, want)
	}
}
