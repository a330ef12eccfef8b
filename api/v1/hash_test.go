package v1_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// basePool is the pool that the golden hashes start from.
func basePool() *v1.NodePool {
	pool := &v1.NodePool{}
	pool.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{Group: "karpenter.kwok.sh", Kind: "KWOKNodeClass", Name: "default"}
	pool.Spec.Template.Spec.ExpireAfter = duration("720h")
	return pool
}

// duration decodes a duration the way a manifest does.
func duration(text string) v1.NillableDuration {
	var d v1.NillableDuration
	if err := d.UnmarshalJSON([]byte(`"` + text + `"`)); err != nil {
		panic(err)
	}
	return d
}

// TestHashGolden pins the hashes that existing clusters have stored. None may change without a new hash version.
func TestHashGolden(t *testing.T) {
	t.Attr("covers", "C166 N262 N530")
	if v1.NodePoolHashVersion != "v3" {
		t.Errorf("the version is %s", v1.NodePoolHashVersion)
	}
	taint := corev1.Taint{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoSchedule}
	a := corev1.Taint{Key: "a", Effect: corev1.TaintEffectNoSchedule}
	b := corev1.Taint{Key: "b", Effect: corev1.TaintEffectNoExecute}
	grace := &metav1.Duration{Duration: 30 * time.Minute}
	for _, test := range []struct {
		name   string
		change func(*v1.NodePool)
		want   string
	}{
		{"base", func(*v1.NodePool) {}, "12745407319442031341"},
		{"requirements", func(p *v1.NodePool) {
			p.Spec.Template.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{{Key: "a", Operator: corev1.NodeSelectorOpIn, Values: []string{"x"}}}
		}, "12745407319442031341"},
		{"outside of the template", func(p *v1.NodePool) {
			p.Spec.Weight, p.Spec.Replicas = new(int32(7)), new(int64(3))
			p.Spec.Limits = v1.Limits{corev1.ResourceCPU: {}}
			p.Spec.Disruption.ConsolidateAfter = duration("30s")
			p.Name, p.Labels = "other", map[string]string{"a": "b"}
		}, "12745407319442031341"},
		{"another spelling of expireAfter", func(p *v1.NodePool) { p.Spec.Template.Spec.ExpireAfter = duration("43200m") }, "12745407319442031341"},
		{"expireAfter made in code", func(p *v1.NodePool) { p.Spec.Template.Spec.ExpireAfter = v1.NewNillableDuration(720 * time.Hour) }, "12745407319442031341"},
		{"expireAfter Never", func(p *v1.NodePool) { p.Spec.Template.Spec.ExpireAfter = duration("Never") }, "7428780003907761376"},
		{"no expireAfter", func(p *v1.NodePool) { p.Spec.Template.Spec.ExpireAfter = v1.NillableDuration{} }, "7428780003907761376"},
		{"label", func(p *v1.NodePool) { p.Spec.Template.Labels = map[string]string{"team": "a"} }, "10172464548043488983"},
		{"empty labels", func(p *v1.NodePool) { p.Spec.Template.Labels = map[string]string{} }, "5327702334917744615"},
		{"annotation", func(p *v1.NodePool) { p.Spec.Template.Annotations = map[string]string{"note": "x"} }, "6001477144712013018"},
		{"taint", func(p *v1.NodePool) { p.Spec.Template.Spec.Taints = []corev1.Taint{taint} }, "1861720833323781758"},
		{"startup taint", func(p *v1.NodePool) { p.Spec.Template.Spec.StartupTaints = []corev1.Taint{taint} }, "17846811830399163832"},
		{"grace period", func(p *v1.NodePool) { p.Spec.Template.Spec.TerminationGracePeriod = grace }, "1360483597026239722"},
		{"two taints", func(p *v1.NodePool) { p.Spec.Template.Spec.Taints = []corev1.Taint{a, b} }, "463741391837728268"},
		{"two taints, other order", func(p *v1.NodePool) { p.Spec.Template.Spec.Taints = []corev1.Taint{b, a} }, "463741391837728268"},
		{"everything", func(p *v1.NodePool) {
			p.Spec.Template.Labels = map[string]string{"team": "a"}
			p.Spec.Template.Annotations = map[string]string{"note": "x"}
			p.Spec.Template.Spec.Taints = []corev1.Taint{taint}
			p.Spec.Template.Spec.TerminationGracePeriod = grace
		}, "10984777121460499825"},
		{"nothing", func(p *v1.NodePool) { *p = v1.NodePool{} }, "17307646073972311821"},
	} {
		t.Run(test.name, func(t *testing.T) {
			pool := basePool()
			test.change(pool)
			if got := pool.Hash(); got != test.want {
				t.Errorf("Hash() = %s, want %s", got, test.want)
			}
		})
	}
}

// TestEveryFieldOfTheTemplateIsHashed: a change of any of them makes the nodes that exist drift.
func TestEveryFieldOfTheTemplateIsHashed(t *testing.T) {
	t.Attr("covers", "C134 C165")
	taints := []corev1.Taint{{Key: "a", Effect: corev1.TaintEffectNoSchedule}}
	seen := map[string]string{basePool().Hash(): "nothing"}
	for name, change := range map[string]func(*v1.NodeClaimTemplate){
		"annotations":    func(t *v1.NodeClaimTemplate) { t.Annotations = map[string]string{"a": "b"} },
		"labels":         func(t *v1.NodeClaimTemplate) { t.Labels = map[string]string{"a": "b"} },
		"taints":         func(t *v1.NodeClaimTemplate) { t.Spec.Taints = taints },
		"startup taints": func(t *v1.NodeClaimTemplate) { t.Spec.StartupTaints = taints },
		"class name":     func(t *v1.NodeClaimTemplate) { t.Spec.NodeClassRef.Name = "other" },
		"expireAfter":    func(t *v1.NodeClaimTemplate) { t.Spec.ExpireAfter = duration("1h") },
		"grace period": func(t *v1.NodeClaimTemplate) {
			t.Spec.TerminationGracePeriod = &metav1.Duration{Duration: time.Hour}
		},
	} {
		pool := basePool()
		change(&pool.Spec.Template)
		if same, taken := seen[pool.Hash()]; taken {
			t.Errorf("a change of %s hashes like one of %s", name, same)
		}
		seen[pool.Hash()] = name
	}
}

// TestHashOfManifest hashes pools as they are read from YAML, where an empty map is not an absent one.
func TestHashOfManifest(t *testing.T) {
	const head = "spec: {template: {spec: {nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}, requirements: [], expireAfter: 720h}"
	for manifest, want := range map[string]string{
		head + "}}":                                "12745407319442031341",
		head + ", metadata: {labels: {}}}}":        "5327702334917744615",
		head + ", metadata: {labels: {team: a}}}}": "10172464548043488983",
	} {
		pool := &v1.NodePool{}
		if err := yaml.UnmarshalStrict([]byte(manifest), pool); err != nil {
			t.Fatal(err)
		}
		if got := pool.Hash(); got != want {
			t.Errorf("%s: Hash() = %s, want %s", manifest, got, want)
		}
	}
}

// TestHashIgnoresOrder checks that lists are hashed as sets.
func TestHashIgnoresOrder(t *testing.T) {
	t.Attr("covers", "C171")
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfDistinct(rapid.StringMatching(`[a-z]{1,5}`), rapid.ID[string]).Draw(t, "keys")
		pool, shuffled := basePool(), basePool()
		for _, key := range keys {
			pool.Spec.Template.Spec.Taints = append(pool.Spec.Template.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
		}
		shuffled.Spec.Template.Spec.Taints = rapid.Permutation(pool.Spec.Template.Spec.Taints).Draw(t, "taints")
		if pool.Hash() != shuffled.Hash() {
			t.Errorf("the order of taints changed the hash")
		}
	})
}
