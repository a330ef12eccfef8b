package volume

import "testing"

func TestAllows(t *testing.T) {
	t.Attr("covers", "L284")
	limits := Limits{"small": 2, "over": 1}
	var a Attached
	a.Add([]Attachment{{"small", "ns/a"}, {"over", "ns/x"}, {"over", "ns/y"}})
	a.Add([]Attachment{{"small", "ns/a"}})
	if got := a.Count("small"); got != 1 {
		t.Fatalf("%d volumes of one driver, want 1: a shared claim counts once", got)
	}
	for _, c := range []struct {
		name string
		list []Attachment
		want bool
	}{
		{"nothing", nil, true},
		{"up to the limit", []Attachment{{"small", "ns/b"}}, true},
		{"beyond the limit", []Attachment{{"small", "ns/b"}, {"small", "ns/c"}}, false},
		{"a claim that is attached", []Attachment{{"small", "ns/a"}, {"small", "ns/b"}}, true},
		{"an attached claim of a driver beyond its limit", []Attachment{{"over", "ns/x"}}, true},
		{"a new claim of a driver beyond its limit", []Attachment{{"over", "ns/z"}}, false},
		{"another driver, while one is beyond its limit", []Attachment{{"small", "ns/b"}, {"free", "ns/f"}}, true},
		{"a driver without limit", []Attachment{{"free", "ns/f"}, {"free", "ns/g"}, {"free", "ns/h"}}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := a.Allows(c.list, limits); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestAClonesAttachmentsAreIndependent(t *testing.T) {
	var a Attached
	a.Add([]Attachment{{"d", "ns/a"}})
	b := a.Clone()
	b.Add([]Attachment{{"d", "ns/b"}})
	if a.Count("d") != 1 || b.Count("d") != 2 {
		t.Errorf("%d and %d volumes, want 1 and 2", a.Count("d"), b.Count("d"))
	}
}

func TestALimitOfNoneAllowsNone(t *testing.T) {
	var a Attached
	if a.Allows([]Attachment{{"d", "ns/a"}}, Limits{"d": 0}) {
		t.Error("a volume is attached where none may be")
	}
}
