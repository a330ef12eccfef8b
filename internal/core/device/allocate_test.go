package device

import (
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

func TestInstanceTypesWithTheDeviceAreKept(t *testing.T) {
	t.Attr("covers", "L317")
	gpu, bare := template(several(1, "gpu", "model=a")...), template(several(1, "nic", "model=n")...)
	a := must(t, cluster(), plannedNode("m", nil, bare, gpu), claim("c", exactly("r", 1, has{"model", "a"})))
	if len(a.Templates) != 1 || a.Templates[0] != gpu {
		t.Errorf("%d kinds are left, want the one with the device", len(a.Templates))
	}
	want(t, "devices", describe(a), "r=gpu0")
}

func TestPodsShareANodeWithDistinctDevices(t *testing.T) {
	t.Attr("covers", "L319")
	l, kind := cluster(), template(several(2, "gpu")...)
	for i, name := range []string{"gpu0", "gpu1"} {
		a := must(t, l, plannedNode("m", kind), claim(name, exactly("r", 1)))
		want(t, "device", describe(a), "r=gpu"+string(rune('0'+i)))
	}
	refuse(t, l, plannedNode("m", kind), claim("third", exactly("r", 1)))
	must(t, l, plannedNode("other", kind), claim("third", exactly("r", 1)))
}

func TestAllMode(t *testing.T) {
	t.Attr("covers", "L320")
	devices := append(several(2, "gpu", "model=a"), plain("old", "model=b"))
	t.Run("takes every matching device", func(t *testing.T) {
		a := must(t, cluster(), plannedNode("m", template(devices...)), claim("c", all("r", has{"model", "a"})))
		want(t, "devices", describe(a), "r=gpu0 r=gpu1")
	})
	t.Run("fails when one of them is taken", func(t *testing.T) {
		l, kind := cluster(), template(devices...)
		must(t, l, plannedNode("m", kind), claim("c", exactly("r", 1, has{"model", "a"})))
		refuse(t, l, plannedNode("m", kind), claim("d", all("r", has{"model", "a"})))
	})
	t.Run("fails when there is none", func(t *testing.T) {
		refuse(t, cluster(), plannedNode("m", template(devices...)), claim("c", all("r", has{"model", "x"})))
	})
	t.Run("is refused by incomplete pools", func(t *testing.T) {
		growing := everywhere("shared", several(1, "gpu")...)
		growing.Count = 2
		failure := refuse(t, cluster(growing), plannedNode("m", template(devices...)), claim("c", all("r", has{"model", "a"})))
		if !strings.Contains(failure.Text, "pool gpu.example.com/shared is incomplete") {
			t.Errorf("got %q", failure.Text)
		}
	})
	t.Run("takes the devices in the zone of the node, whichever zone that is", func(t *testing.T) {
		l := cluster(
			placed("pa", []requirement.Set{zone("a")}, several(2, "a", "model=a")...),
			placed("pb", []requirement.Set{zone("b")}, several(1, "b", "model=a")...),
		)
		must(t, l, plannedNode("m"), claim("one", exactly("r", 1)))
		a := must(t, l, plannedNode("n"), claim("rest", all("r")))
		want(t, "devices", describe(a), "r=b0")
		want(t, "place", a.Requirements.String(), zone("b").String())
	})
	t.Run("may restrict the node to a zone without other devices", func(t *testing.T) {
		l := cluster(placed("pa", []requirement.Set{zone("a")}, several(1, "a")...))
		must(t, l, plannedNode("m"), claim("one", exactly("r", 1)))
		a := must(t, l, plannedNode("n", template(several(1, "new")...)).within(zone("a", "b")), claim("rest", all("r")))
		want(t, "devices", describe(a), "r=new0")
		want(t, "place", a.Requirements.String(), zone("b").String())
	})
}

func TestFirstAvailable(t *testing.T) {
	t.Attr("covers", "L322 N249 N255")
	choice := firstOf("r", exactly("best", 1, has{"model", "a"}), exactly("good", 1, has{"model", "b"}))
	l, kind := cluster(), template(plain("good0", "model=b"), plain("best0", "model=a"))
	want(t, "the first", describe(must(t, l, plannedNode("m", kind), claim("c", choice))), "r/best=best0")
	want(t, "the second", describe(must(t, l, plannedNode("m", kind), claim("d", choice))), "r/good=good0")
	refuse(t, l, plannedNode("m", kind), claim("e", choice))
}

// TestAnAlternativeIsChosenForTheWholePod: the first alternative with which everything else of the pod has devices, too, not the first that
// has devices for itself.
func TestAnAlternativeIsChosenForTheWholePod(t *testing.T) {
	t.Attr("covers", "N250 N252 N254")
	two := func() *Template { return template(several(2, "gpu", "model=a")...) }
	pair := firstOf("r", exactly("two", 2), exactly("one", 1))
	for _, tc := range []struct {
		name   string
		kind   *Template
		claims []*Claim
		want   string // empty for a refusal
	}{
		{"another request needs a device", two(), []*Claim{claim("c", pair, exactly("s", 1))}, "r/one=gpu0 s=gpu1"},
		{"another claim needs a device", two(), []*Claim{claim("c", pair), claim("d", exactly("s", 1))}, "r/one=gpu0 s=gpu1"},
		{"nothing else does", two(), []*Claim{claim("c", pair)}, "r/two=gpu0 r/two=gpu1"},
		{"no alternative leaves enough", two(), []*Claim{claim("c", pair), claim("d", exactly("s", 2))}, ""},
		{
			"all devices of none are no choice", two(),
			[]*Claim{claim("c", firstOf("r", all("every", has{"model", "x"}), exactly("one", 1)))},
			"r/one=gpu0",
		},
		{
			"counters suffice for the second alternative only",
			NewTemplate(partitioned("p", 100, partition("a", 60), partition("b", 40), partition("c", 60)), nil),
			[]*Claim{claim("c", firstOf("r", exactly("three", 3), exactly("two", 2)))},
			"r/two=a r/two=b",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.want == "" {
				refuse(t, cluster(), plannedNode("m", tc.kind), tc.claims...)
				return
			}
			want(t, "devices", describe(must(t, cluster(), plannedNode("m", tc.kind), tc.claims...)), tc.want)
		})
	}
}

func TestAllocatedClaims(t *testing.T) {
	t.Attr("covers", "L326 L337 L338")
	for _, tc := range []struct {
		name   string
		claims []*Claim
		place  string
		refuse bool
	}{
		{"two claims in different zones conflict", []*Claim{given("a", zone("a")), given("b", zone("b"))}, "", true},
		{"two claims with a zone in common narrow the node to it", []*Claim{given("a", zone("a", "b")), given("b", zone("b", "c"))}, zone("b").String(), false},
		{"terms are alternatives", []*Claim{given("a", zone("a"), zone("b")), given("b", zone("b"))}, zone("b").String(), false},
		{"the second alternative is taken when the first fails", []*Claim{
			given("a", zone("a").And(in("example.com/rack", "1")), zone("b")), given("b", zone("b")),
		}, zone("b").String(), false},
		{"a claim without a place can be used everywhere", []*Claim{given("a")}, "", false},
		{"a claim on an existing node cannot be used from a new node", []*Claim{given("a", OnNode("n"))}, "", true},
		{"a place with an undefined label cannot be reached", []*Claim{given("a", in("example.com/rack", "1"))}, "", true},
		{"an allocated claim narrows what is allocated beside it", []*Claim{given("a", zone("b")), claim("c", exactly("r", 1))}, zone("b").String(), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := cluster()
			a, failure := try(t, l, plannedNode("m", template(several(1, "gpu")...)), tc.claims...)
			if (failure != nil) != tc.refuse {
				t.Fatalf("got %+v, refused: %v", failure, tc.refuse)
			}
			want(t, "place", a.Requirements.String(), tc.place)
		})
	}
}

func TestPlaceOfDevices(t *testing.T) {
	t.Attr("covers", "L328")
	l := cluster(
		placed("pa", []requirement.Set{zone("a")}, plain("a0")),
		placed("pb", []requirement.Set{zone("b")}, plain("b0")),
	)
	t.Run("narrows the requirements of the node", func(t *testing.T) {
		a, _ := try(t, l, plannedNode("m"), claim("c", exactly("r", 1)))
		want(t, "device", describe(a), "r=a0")
		want(t, "place", a.Requirements.String(), zone("a").String())
	})
	t.Run("respects the requirements of the node", func(t *testing.T) {
		a, _ := try(t, l, plannedNode("m").within(zone("b", "c")), claim("c", exactly("r", 1)))
		want(t, "device", describe(a), "r=b0")
	})
	t.Run("is skipped when no instance type is available there", func(t *testing.T) {
		m := plannedNode("m")
		m.Accepts = func(_ *Template, narrowed requirement.Set) bool { return narrowed.Get(zoneKey).Has("b") }
		a, _ := try(t, l, m, claim("c", exactly("r", 1)))
		want(t, "device", describe(a), "r=b0")
	})
	t.Run("is one for all devices", func(t *testing.T) {
		refuse(t, l, plannedNode("m"), claim("c", exactly("r", 2)))
	})
	t.Run("is one for all kinds", func(t *testing.T) {
		// The first kind can only use zone b, so the second must not be left with zone a.
		b, c := template(plain("x")), template(plain("y"))
		m := plannedNode("m", b, c)
		m.Accepts = func(kind *Template, narrowed requirement.Set) bool {
			return kind == c || narrowed.Get(zoneKey).Has("b")
		}
		a, _ := try(t, l, m, claim("c", exactly("r", 1)))
		want(t, "first kind", describeKind(a, b), "r=b0")
		want(t, "second kind", describeKind(a, c), "r=b0")
	})
	t.Run("is fixed on an existing node", func(t *testing.T) {
		a, _ := try(t, l, node("n", zone("b")), claim("c", exactly("r", 1)))
		want(t, "device", describe(a), "r=b0")
		refuse(t, l, node("n", zone("c")), claim("c", exactly("r", 1)))
		refuse(t, l, node("no-zone"), claim("c", exactly("r", 1)))
	})
}

func TestClaimsSharedByPods(t *testing.T) {
	t.Attr("covers", "L329")
	t.Run("existing devices can be used from other nodes", func(t *testing.T) {
		l := cluster(placed("pa", []requirement.Set{zone("a")}, plain("a0")))
		shared := claim("c", exactly("r", 1))
		must(t, l, plannedNode("m"), shared)
		a := must(t, l, plannedNode("n").within(zone("a", "b")), shared)
		want(t, "place", a.Requirements.String(), zone("a").String())
		refuse(t, l, plannedNode("o").within(zone("b")), shared)
	})
	t.Run("devices of a planned node can be used from that node only", func(t *testing.T) {
		l, kind := cluster(), template(several(2, "gpu")...)
		shared := claim("c", exactly("r", 1))
		must(t, l, plannedNode("m", kind), shared)
		refuse(t, l, plannedNode("n", kind), shared)
		must(t, l, plannedNode("m", kind), shared)
		must(t, l, plannedNode("m", kind), claim("d", exactly("r", 1)))
	})
	t.Run("a claim that is named twice is allocated once", func(t *testing.T) {
		shared := claim("c", exactly("r", 1))
		a := must(t, cluster(), plannedNode("m", template(plain("gpu"))), shared, shared)
		want(t, "devices", describe(a), "r=gpu")
	})
}

func TestClaimsThatCannotBeAllocated(t *testing.T) {
	t.Attr("covers", "L325")
	broken := &Claim{Name: "default/c", Problem: "device class \"x\" not found"}
	want(t, "problem", refuse(t, cluster(), plannedNode("m"), broken).Text, broken.Problem)
	failure := refuse(t, cluster(), plannedNode("m", template(plain("odd", "model=broken"), plain("gpu", "model=a"))), claim("c", exactly("r", 1, has{"model", "a"})))
	if !strings.Contains(failure.Text, "no such key") {
		t.Errorf("the error of the selector is lost: %q", failure.Text)
	}
}

func TestMaximumDevicesPerClaim(t *testing.T) {
	t.Attr("covers", "L335 N251")
	large, small := template(several(40, "gpu")...), template(several(8, "gpu")...)
	t.Run("is rejected before the search", func(t *testing.T) {
		failure := refuse(t, cluster(), plannedNode("m", large), claim("c", exactly("r", 20), exactly("q", 13)))
		if !strings.Contains(failure.Text, "33 devices") {
			t.Errorf("got %q", failure.Text)
		}
		must(t, cluster(), plannedNode("m", large), claim("c", exactly("r", 20), exactly("q", 12)))
	})
	t.Run("prunes kinds that have too many", func(t *testing.T) {
		a := must(t, cluster(), plannedNode("m", large, small), claim("c", all("r")))
		if len(a.Templates) != 1 || a.Templates[0] != small {
			t.Errorf("%d kinds are left", len(a.Templates))
		}
		refuse(t, cluster(), plannedNode("m", large), claim("c", all("r")))
	})
	t.Run("counts the cheapest of alternatives", func(t *testing.T) {
		a := must(t, cluster(), plannedNode("m", large), claim("c", exactly("q", 20), firstOf("r", exactly("many", 20), exactly("few", 2))))
		if !strings.Contains(describe(a), "r/few=") || strings.Contains(describe(a), "r/many=") {
			t.Errorf("got %s", describe(a))
		}
	})
	t.Run("holds for what is chosen", func(t *testing.T) {
		choice := func(name string) Request { return firstOf(name, exactly("many", 30), exactly("few", 2)) }
		a := must(t, cluster(), plannedNode("m", large), claim("c", choice("q"), choice("r")))
		if text := describe(a); !strings.Contains(text, "q/many=") || !strings.Contains(text, "r/few=") || strings.Contains(text, "r/many=") {
			t.Errorf("got %s", text)
		}
	})
}

func TestTheSearchEndsWhenItTakesTooLong(t *testing.T) {
	steps := 0
	stop := func() bool { steps++; return steps > 3 }
	// No two devices agree, and there are very many pairs to try.
	var devices []*Device
	for i := range 30 {
		devices = append(devices, plain(string(rune('a'+i)), "id="+string(rune('a'+i))))
	}
	c := claim("c", exactly("r", 8)).agreeing(driver+"/none", "other")
	c.Requests = append(c.Requests, exactly("s", 1, has{"id", "missing"}))
	l := cluster()
	_, failure := l.Allocate(plannedNode("m", template(devices...)), []*Claim{c}, stop)
	if failure == nil || !failure.Timeout {
		t.Fatalf("got %+v, want a timeout", failure)
	}
	must(t, l, plannedNode("m", template(devices...)), claim("d", exactly("r", 8)))
}

func TestAdminAccessTakesNothing(t *testing.T) {
	l, kind := cluster(), template(plain("gpu"))
	watch := exactly("r", 1)
	watch.Alternatives[0].AdminAccess = true
	must(t, l, plannedNode("m", kind), claim("c", exactly("r", 1)))
	want(t, "device", describe(must(t, l, plannedNode("m", kind), claim("watch", watch))), "r=gpu")
	want(t, "device", describe(must(t, l, plannedNode("m", kind), claim("watch-too", watch))), "r=gpu")
}
