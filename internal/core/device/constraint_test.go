package device

import "testing"

func TestMatchAttribute(t *testing.T) {
	t.Attr("covers", "L321 N253")
	numa := driver + "/numa"
	pairs := template(plain("g0", "kind=gpu", "numa=0"), plain("g1", "kind=gpu", "numa=1"), plain("n1", "kind=nic", "numa=1"))
	gpu, nic := exactly("gpu", 1, has{"kind", "gpu"}), exactly("nic", 1, has{"kind", "nic"})
	for _, tc := range []struct {
		name  string
		kind  *Template
		claim *Claim
		want  string // empty for a refusal
	}{
		{"backtracks to devices that agree", pairs, claim("c", gpu, nic).agreeing(numa), "gpu=g1 nic=n1"},
		{"binds only the requests it names", pairs, claim("c", gpu, nic).agreeing(numa, "gpu"), "gpu=g0 nic=n1"},
		{"within one request", template(plain("a", "numa=0"), plain("b", "numa=1"), plain("c", "numa=0")), claim("c", exactly("r", 2)).agreeing(numa), "r=a r=c"},
		{"refuses when nothing agrees", pairs, claim("c", exactly("gpu", 2, has{"kind", "gpu"})).agreeing(numa), ""},
		{"refuses devices without the attribute", template(plain("a")), claim("c", exactly("r", 1)).agreeing(numa), ""},
		{"tells types apart", template(plain("a", "numa=0"), typed("b", "numa", Integer, "0")), claim("c", exactly("r", 2)).agreeing(numa), ""},
		{"the full name counts before the bare one", template(plain("a", numa+"=1", "numa=0"), plain("b", "numa=1")), claim("c", exactly("r", 2)).agreeing(numa), "r=a r=b"},
		{"a bare name belongs to the driver", template(plain("a", "numa=1"), plain("b", "numa=1")), claim("c", exactly("r", 2)).agreeing("other.example.com/numa"), ""},
		{"lists agree in a value they share", template(plain("a", "numa=0", "numa=1"), plain("b", "numa=1", "numa=2")), claim("c", exactly("r", 2)).agreeing(numa), "r=a r=b"},
		{"lists that agree in pairs only do not", template(
			plain("a", "numa=0", "numa=1"), plain("b", "numa=1", "numa=2"), plain("c", "numa=0", "numa=2"),
		), claim("c", exactly("r", 3)).agreeing(numa), ""},
		{
			"the name of a request stands for its alternatives", pairs,
			claim("c", firstOf("dev", exactly("gpu", 1, has{"kind", "gpu"})), nic).agreeing(numa, "dev", "nic"),
			"dev/gpu=g1 nic=n1",
		},
		{
			"the name of an alternative stands for itself", pairs,
			claim("c", firstOf("dev", exactly("tpu", 1, has{"kind", "tpu"}), exactly("gpu", 1, has{"kind", "gpu"})), nic).agreeing(numa, "dev/tpu", "nic"),
			"dev/gpu=g0 nic=n1",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.want == "" {
				refuse(t, cluster(), plannedNode("m", tc.kind), tc.claim)
				return
			}
			want(t, "devices", describe(must(t, cluster(), plannedNode("m", tc.kind), tc.claim)), tc.want)
		})
	}
}

func typed(name, attribute string, typ ValueType, value string) *Device {
	return &Device{Name: name, Attributes: map[string][]Value{attribute: {{typ, value}}}}
}

func TestBindings(t *testing.T) {
	t.Attr("covers", "L321")
	clique := driver + "/clique"
	ids := func(names ...string) []ID {
		var out []ID
		for _, n := range names {
			out = append(out, ID{driver, "new", n})
		}
		return out
	}
	devices := []*Device{plain("a"), plain("b"), plain("c"), plain("d"), plain("e", "clique=7"), plain("f", "clique=7")}
	bind := func(bindings ...Binding) *Template {
		return NewTemplate([]*Slice{everywhere("new", devices...)}, bindings)
	}
	for _, tc := range []struct {
		name string
		kind *Template
		n    int
		want string
	}{
		{"devices that are bound agree without a value", bind(Binding{clique, ids("b", "d")}), 2, "r=b r=d"},
		{"bindings are transitive", bind(Binding{clique, ids("a", "b")}, Binding{clique, ids("c", "b")}), 3, "r=a r=b r=c"},
		{"two bindings do not agree", bind(Binding{clique, ids("a", "b")}, Binding{clique, ids("c", "d")}), 3, ""},
		{"bindings of another attribute do not count", bind(Binding{driver + "/other", ids("a", "b")}), 2, "r=e r=f"},
		{"values and bindings do not mix", bind(Binding{clique, ids("a", "e")}), 3, ""},
		{"a group of one binds nothing", bind(Binding{clique, ids("a")}), 1, "r=e"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := claim("c", exactly("r", tc.n)).agreeing(clique)
			if tc.want == "" {
				refuse(t, cluster(), plannedNode("m", tc.kind), c)
				return
			}
			want(t, "devices", describe(must(t, cluster(), plannedNode("m", tc.kind), c)), tc.want)
		})
	}
}
