package overlay_test

import (
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/api/v1alpha1"
	"github.com/karpenter-anew/karpenter/internal/overlay"
)

func TestWithoutOverlaysNothingChanges(t *testing.T) {
	t.Attr("covers", "L359")
	small := instanceType("small")
	o := evaluate(t, nil, pool("p", nil, small))
	if got := o.types("p"); len(got) != 1 || got[0] != small {
		t.Errorf("types %v, want the cloud's own", got)
	}
	o = evaluate(t, overlays(named("one", price("3"), typed("small"))), pool("p", nil, small))
	o.expectVerdicts(t, map[string]string{"one": ""})
}

func TestInvalidOverlaysAreInForceNowhere(t *testing.T) {
	t.Attr("covers", "L360 L366")
	for name, invalid := range map[string]part{
		"a requirement without values":    where("example.com/a", corev1.NodeSelectorOpNotIn),
		"a restricted key":                in("karpenter.sh/registered", "true"),
		"an unknown capacity type":        capacityType("sport"),
		"a bound that is no number":       where("example.com/a", "Gte", "many"),
		"a resource of the cloud":         capacity("cpu", "8", "example.com/disk", "3"),
		"a price that is none":            adjust("5"),
		"a price beside the price":        adjust("+5"),
		"a label value that cannot exist": in("example.com/a", "no way!"),
	} {
		t.Run(name, func(t *testing.T) {
			o := evaluate(t, overlays(named("bad", price("3"), invalid), named("good", price("2"), typed("large"))),
				pool("p", nil, instanceType("small"), instanceType("large")))
			o.expectVerdicts(t, map[string]string{"bad": v1alpha1.ReasonRuntimeValidation, "good": ""})
			o.expectChanges(t, "p", map[string]string{
				"large a/on-demand": "2", "large b/on-demand": "2", "large a/spot": "2", "large b/spot": "2",
			})
		})
	}
}

// TestOverlappingPricesOfEqualWeightConflict: b comes first, because of equal weights the later name does.
func TestOverlappingPricesOfEqualWeightConflict(t *testing.T) {
	t.Attr("covers", "L361")
	for _, test := range []struct {
		name     string
		a, b     []part
		conflict bool
	}{
		{"the same type", []part{price("1"), typed("small")}, []part{price("2"), typed("small", "large")}, true},
		{"different types", []part{price("1"), typed("small")}, []part{price("2"), typed("large")}, false},
		{"everything and a type", []part{price("1")}, []part{price("2"), typed("large")}, true},
		{"types that no provider lists", []part{price("1"), typed("huge")}, []part{price("2"), typed("huge")}, false},
		{"the same zone", []part{price("1"), zone("a")}, []part{price("2"), zone("a", "b")}, true},
		{"different zones", []part{price("1"), zone("a")}, []part{price("2"), zone("b")}, false},
		{"the same capacity type", []part{price("1"), capacityType("spot")}, []part{price("2"), capacityType("spot")}, true},
		{"different capacity types", []part{price("1"), capacityType("spot")}, []part{price("2"), capacityType("on-demand")}, false},
		{"crossing zone and capacity type", []part{price("1"), zone("a")}, []part{price("2"), capacityType("spot")}, true},
		{"different pools", []part{price("1"), inPool("p")}, []part{price("2"), inPool("q")}, false},
		{"pools that overlap", []part{price("1"), inPool("p", "q")}, []part{price("2"), inPool("q")}, true},
		{"equal prices", []part{price("1")}, []part{price("1")}, true},
		{"price and adjustment", []part{price("1")}, []part{adjust("+10%")}, true},
		{"two adjustments", []part{adjust("-1")}, []part{adjust("+10%")}, true},
		{"equal weights that are set", []part{price("1"), weight(7)}, []part{price("2"), weight(7)}, true},
		{"different weights", []part{price("1"), weight(7)}, []part{price("2"), weight(8)}, false},
		{"a weight and none", []part{price("1"), weight(7)}, []part{price("2")}, false},
		{"price and capacity", []part{price("1")}, []part{capacity("example.com/gpu", "1")}, false},
		{"prices that change nothing", []part{price("")}, []part{adjust("")}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := evaluate(t, overlays(named("a", test.a...), named("b", test.b...)),
				pool("p", nil, instanceType("small"), instanceType("large")), pool("q", nil, instanceType("small")))
			want := map[string]string{"a": "", "b": ""}
			if test.conflict {
				want["a"] = "Conflict with b"
			}
			o.expectVerdicts(t, want)
		})
	}
}

// TestPrecedenceHidesNoConflict checks that overlays conflict even where an overlay of higher weight takes precedence.
func TestPrecedenceHidesNoConflict(t *testing.T) {
	t.Attr("covers", "L361")
	o := evaluate(t, overlays(named("a", price("1")), named("b", price("2")), named("heavy", price("3"), weight(9))), pool("p", nil, instanceType("small")))
	o.expectVerdicts(t, map[string]string{"a": "Conflict with b", "b": "", "heavy": ""})
}

// TestAConflictingOverlayDoesNotCount checks that b does not conflict with c, which conflicts with d and is not in effect.
func TestAConflictingOverlayDoesNotCount(t *testing.T) {
	t.Attr("covers", "L361")
	o := evaluate(t, overlays(
		named("d", price("1"), typed("small")), named("c", price("2"), typed("small", "large")), named("b", price("3"), typed("large")),
	), pool("p", nil, instanceType("small"), instanceType("large")))
	o.expectVerdicts(t, map[string]string{"d": "", "c": "Conflict with d", "b": ""})
	if got := o.changes("p")["large a/spot"]; got != "3" {
		t.Errorf("price %q, want that of b", got)
	}
}

func TestCapacityConflictsArePerResource(t *testing.T) {
	t.Attr("covers", "L362")
	gpu, fpga := capacity("example.com/gpu", "1"), capacity("example.com/fpga", "2")
	for _, test := range []struct {
		name     string
		overlays []*v1alpha1.NodeOverlay
		want     map[string]string
	}{
		{"different resources", overlays(named("a", gpu), named("b", fpga)), map[string]string{"a": "", "b": ""}},
		{"the same resource", overlays(named("a", gpu), named("b", capacity("example.com/gpu", "2"))), map[string]string{"a": "Conflict with b", "b": ""}},
		{"equal quantities", overlays(named("a", gpu), named("b", gpu)), map[string]string{"a": "Conflict with b", "b": ""}},
		{"another one in between", overlays(named("a", gpu), named("b", fpga), named("c", gpu)), map[string]string{"a": "Conflict with c", "b": "", "c": ""}},
		{"other offerings of one type", overlays(named("a", gpu, zone("a")), named("b", gpu, zone("b"))), map[string]string{"a": "Conflict with b", "b": ""}},
		{"other types", overlays(named("a", gpu, typed("small")), named("b", gpu, typed("large"))), map[string]string{"a": "", "b": ""}},
		{"one resource of two", overlays(named("a", capacity("example.com/gpu", "1", "example.com/x", "1")), named("b", gpu)), map[string]string{"a": "Conflict with b", "b": ""}},
		{"different weights", overlays(named("a", gpu), named("b", gpu, weight(3))), map[string]string{"a": "", "b": ""}},
	} {
		t.Run(test.name, func(t *testing.T) {
			evaluate(t, test.overlays, pool("p", nil, instanceType("small"), instanceType("large"))).expectVerdicts(t, test.want)
		})
	}
	o := evaluate(t, overlays(named("a", gpu), named("b", fpga)), pool("p", nil, instanceType("small")))
	o.expectChanges(t, "p", map[string]string{"small example.com/gpu": "1", "small example.com/fpga": "2"})
}

func TestHeavierOverlaysWinAndLighterFillTheGaps(t *testing.T) {
	t.Attr("covers", "L363")
	o := evaluate(t, overlays(
		named("light", price("9"), capacity("example.com/gpu", "1", "example.com/fpga", "1")),
		named("middle", weight(5), adjust("+1"), zone("a")),
		named("heavy", weight(10), adjust("-50%"), capacityType("spot"), capacity("example.com/gpu", "8")),
	), pool("p", nil, instanceType("small")))
	o.expectVerdicts(t, map[string]string{"light": "", "middle": "", "heavy": ""})
	o.expectChanges(t, "p", map[string]string{
		"small a/spot": "0.25", "small b/spot": "0.25", // of the cloud's price, not of another overlay's
		"small a/on-demand": "2", "small b/on-demand": "9",
		"small example.com/gpu": "8", "small example.com/fpga": "1",
	})
}

func TestPoolsCanBeSelected(t *testing.T) {
	t.Attr("covers", "L364")
	small := instanceType("small")
	labelled, plain := pool("labelled", map[string]string{"example.com/team": "x"}, small), pool("plain", nil, small)
	everything := func(p string) map[string]string {
		return map[string]string{"small a/on-demand": p, "small b/on-demand": p, "small a/spot": p, "small b/spot": p}
	}
	none := map[string]string{}
	for _, test := range []struct {
		name            string
		select_         part
		labelled, plain map[string]string
	}{
		{"by name", inPool("plain"), none, everything("7")},
		{"by not having a name", where(v1.NodePoolLabelKey, corev1.NodeSelectorOpNotIn, "plain"), everything("7"), none},
		{"by a label", in("example.com/team", "x", "y"), everything("7"), none},
		{"by another value", in("example.com/team", "y"), none, none},
		{"by having a label", where("example.com/team", corev1.NodeSelectorOpExists), everything("7"), none},
		{"by not having it", where("example.com/team", corev1.NodeSelectorOpDoesNotExist), none, everything("7")},
		{"by a well-known label that no type has", in(corev1.LabelTopologyRegion, "r"), none, none},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := evaluate(t, overlays(named("o", price("7"), test.select_)), labelled, plain)
			o.expectVerdicts(t, map[string]string{"o": ""})
			o.expectChanges(t, "labelled", test.labelled)
			o.expectChanges(t, "plain", test.plain)
			for _, it := range o.types("labelled") {
				for _, r := range it.Requirements {
					if r.Key == "example.com/team" || r.Key == v1.NodePoolLabelKey {
						t.Errorf("the type took over the pool's label %s", r.Key)
					}
				}
			}
		})
	}
}

func TestPricesApplyToMatchingOfferingsOnly(t *testing.T) {
	t.Attr("covers", "L365")
	for _, test := range []struct {
		name  string
		parts []part
		want  []string
	}{
		{"a type", []part{typed("small")}, []string{"small a/on-demand", "small b/on-demand", "small a/spot", "small b/spot"}},
		{"a zone", []part{zone("a"), typed("small")}, []string{"small a/on-demand", "small a/spot"}},
		{"all but a zone", []part{where(corev1.LabelTopologyZone, "NotIn", "a"), typed("small")}, []string{"small b/on-demand", "small b/spot"}},
		{"a capacity type", []part{capacityType("spot")}, []string{"small a/spot", "small b/spot", "large a/spot", "large b/spot"}},
		{"all three", []part{typed("large"), zone("b"), capacityType("spot")}, []string{"large b/spot"}},
		{"a zone that is not there", []part{zone("c")}, nil},
		{"an old name of a label", []part{in("failure-domain.beta.kubernetes.io/zone", "a"), typed("large"), capacityType("spot")}, []string{"large a/spot"}},
		{"another architecture", []part{in(corev1.LabelArchStable, "arm64")}, nil},
		{"a label that the type rules out", []part{where("example.com/reservation", "Exists")}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := evaluate(t, overlays(named("o", append(test.parts, price("7"))...)), pool("p", nil, instanceType("small"), instanceType("large")))
			want := map[string]string{}
			for _, way := range test.want {
				want[way] = "7"
			}
			o.expectChanges(t, "p", want)
		})
	}
}

// TestUnavailableOfferingsAreCorrectedToo: a running node of one has the price of the overlay.
func TestUnavailableOfferingsAreCorrectedToo(t *testing.T) {
	t.Attr("covers", "L365")
	small := instanceType("small")
	for i := range small.Offerings {
		if small.Offerings[i].CapacityType() == "spot" {
			small.Offerings[i].Available = false
		}
	}
	small.Requirements[3].Values = []string{"on-demand"}
	o := evaluate(t, overlays(named("o", price("7"), capacityType("spot"))), pool("p", nil, small))
	o.expectChanges(t, "p", map[string]string{"small a/spot": "7", "small b/spot": "7"})
}

func TestAConflictAnywhereCountsEverywhere(t *testing.T) {
	t.Attr("covers", "L366")
	o := evaluate(t, overlays(
		named("b", price("1"), typed("small"), inPool("p")),
		named("a", price("2"), capacity("example.com/gpu", "1")),
	), pool("p", nil, instanceType("small"), instanceType("large")), pool("q", nil, instanceType("large")))
	o.expectVerdicts(t, map[string]string{"a": "Conflict with b", "b": ""})
	o.expectChanges(t, "q", map[string]string{})
	o.expectChanges(t, "p", map[string]string{
		"small a/on-demand": "1", "small b/on-demand": "1", "small a/spot": "1", "small b/spot": "1",
	})
}

// TestOrderDoesNotMatter: verdicts and corrections depend on weights and names only.
func TestOrderDoesNotMatter(t *testing.T) {
	list := overlays(
		named("a", price("1"), typed("small")), named("b", price("2"), zone("a")), named("c", adjust("+1"), weight(3), capacityType("spot")),
		named("d", capacity("example.com/gpu", "1")), named("e", capacity("example.com/gpu", "2"), zone("b")),
	)
	pools := []overlay.Pool{pool("p", nil, instanceType("small"), instanceType("large")), pool("q", map[string]string{"example.com/team": "x"}, instanceType("large"))}
	first := evaluate(t, list, pools...)
	for range 20 {
		rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		rand.Shuffle(len(pools), func(i, j int) { pools[i], pools[j] = pools[j], pools[i] })
		again := evaluate(t, list, pools...)
		again.expectVerdicts(t, first.verdicts)
		again.expectChanges(t, "p", first.changes("p"))
		again.expectChanges(t, "q", first.changes("q"))
	}
}

// TestLabelsOfThePoolNarrowOfferings checks a pool that launches no nodes in zone b.
func TestLabelsOfThePoolNarrowOfferings(t *testing.T) {
	t.Attr("covers", "L364")
	narrow := pool("narrow", map[string]string{corev1.LabelTopologyZone: "a"}, instanceType("small"))
	o := evaluate(t, overlays(named("a", price("7"), zone("a"), capacityType("spot")), named("b", price("8"), zone("b"))), narrow)
	o.expectVerdicts(t, map[string]string{"a": "", "b": ""})
	o.expectChanges(t, "narrow", map[string]string{"small a/spot": "7"})
}

// TestPoolsWithTheSameTypesAreEvaluatedSeparately checks a conflict in q only, which lists the same types as p.
func TestPoolsWithTheSameTypesAreEvaluatedSeparately(t *testing.T) {
	t.Attr("covers", "L361")
	small := instanceType("small")
	o := evaluate(t, overlays(named("a", price("1"), inPool("q")), named("b", price("2"), inPool("q"))), pool("p", nil, small), pool("q", nil, small))
	o.expectVerdicts(t, map[string]string{"a": "Conflict with b", "b": ""})
}
