package network

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/cloud/azure/instancetype"
)

// TestFullSubnetsOfClassesThatAreGoneAreForgotten checks that subnets that no launch tries any more do not stay.
func TestFullSubnetsOfClassesThatAreGoneAreForgotten(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	f := NewFullSubnets(clock, instancetype.Network{Plugin: instancetype.PluginAzure, Mode: instancetype.ModeOverlay}, "/subnets/nodes")
	for i := range 1000 {
		id := fmt.Sprint("/subnets/", i)
		f.Failed(&v1beta1.AKSNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "class"}, Spec: v1beta1.AKSNodeClassSpec{VNETSubnetID: &id}})
		clock.Step(time.Minute)
	}
	if n := len(f.full); n > int((minFull+maxFull)/time.Minute)+2 {
		t.Errorf("%d subnets are remembered", n)
	}
}
