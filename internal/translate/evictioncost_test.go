package translate_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

func TestEvictionCost(t *testing.T) {
	t.Attr("covers", "C299 C301 C302 C303 N151 N152 N548 N550")
	cost := func(deletion string, priority int32) float64 {
		p := &corev1.Pod{}
		p.Annotations = map[string]string{"controller.kubernetes.io/pod-deletion-cost": deletion}
		p.Spec.Priority = &priority
		return translate.New(v1.CoreLabelRules()).Pod(p).EvictionCost
	}
	t.Run("a pod without priority and deletion cost costs 1", func(t *testing.T) {
		t.Attr("covers", "C298")
		if got := translate.New(v1.CoreLabelRules()).Pod(&corev1.Pod{}).EvictionCost; got != 1 {
			t.Errorf("got %v", got)
		}
	})
	for _, tt := range []struct {
		name     string
		deletion string
		priority int32
		want     float64
	}{
		{"a deletion cost above zero adds", "134217728", 0, 2},
		{"a deletion cost below zero takes away", "-67108864", 0, 0.5},
		{"a priority above zero adds", "", 33554432, 2},
		{"a priority below zero takes away", "", -16777216, 0.5},
		{"never above 10", "2147483647", 2000000000, 10},
		{"never below -10", "-2147483647", -2147483648, -10},
		{"a malformed deletion cost is ignored", "a lot", 33554432, 2},
		{"so is an empty one", "", 0, 1},
		{"so is a decimal", "134217728.0", 0, 1},
		{"so is a hexadecimal number", "0x8000000", 0, 1},
		{"so is what does not fit in 32 bits", "2147483648", 0, 1},
		{"the lowest value of all is one that upstream left", "-2147483648", 0, 1},
		{"the next one is that of a user", "-2147483647", 0, -10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := cost(tt.deletion, tt.priority); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	for _, tt := range []struct {
		name         string
		ranked       bool
		own, ranking string
		want         float64
	}{
		{"the disruption cost precedes the deletion cost", false, "134217728", "268435456", 2},
		{"the lowest disruption cost is one of a user", false, "-2147483648", "", -10},
		{"the lowest deletion cost is none beside it either", false, "134217728", "-2147483648", 2},
		{"without a disruption cost the deletion cost counts", false, "", "134217728", 2},
		{"an invalid disruption cost leaves none", false, "a lot", "134217728", 1},
		{"what ranking has left counts without it", false, "", "-134217728", 0},
		{"ranked deletion costs do not count", true, "", "134217728", 1},
		{"beside ranked deletion costs the disruption cost counts", true, "134217728", "-5", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Attr("covers", "N150 N151 N163 N164 N549")
			p := &corev1.Pod{}
			p.Annotations = map[string]string{}
			if tt.own != "" {
				p.Annotations["karpenter.sh/disruption-cost"] = tt.own
			}
			if tt.ranking != "" {
				p.Annotations["controller.kubernetes.io/pod-deletion-cost"] = tt.ranking
			}
			translator := translate.NewWith(v1.CoreLabelRules(), translate.Settings{RankedDeletionCosts: tt.ranked})
			if got := translator.Pod(p).EvictionCost; got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	t.Run("more is more, always", func(t *testing.T) {
		t.Attr("covers", "C300 C301")
		last := cost("-1000000000", -50_000_000)
		for _, step := range []struct {
			deletion string
			priority int32
		}{{"-999999999", -50_000_000}, {"-5", -50_000_000}, {"0", -50_000_000}, {"1", -50_000_000}, {"1", -5}, {"1", 0}, {"1", 1}, {"99", 1}, {"99", 1000}} {
			got := cost(step.deletion, step.priority)
			if got <= last {
				t.Errorf("deletion cost %s and priority %d: %v is not above %v", step.deletion, step.priority, got, last)
			}
			last = got
		}
	})
}
