package subnet_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/subnet"
)

var subnets = []awsv1.Subnet{{ID: "a1", Zone: "a"}, {ID: "b1", Zone: "b"}, {ID: "a2", Zone: "a"}, {ID: "a3", Zone: "a"}}

// pick picks for a launch that needs as much everywhere, and shows the subnets.
func pick(t *testing.T, l *subnet.Ledger, need int64) (subnet.Choice, string) {
	t.Helper()
	choice, err := l.Pick(subnets, func(string) int64 { return need })
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, s := range choice.Subnets {
		ids = append(ids, s.ID)
	}
	return choice, strings.Join(ids, " ")
}

// ledger knows 100, 90 and 90 addresses in zone a.
func ledger() *subnet.Ledger {
	l := &subnet.Ledger{}
	for id, free := range map[string]int64{"a1": 90, "a2": 100, "a3": 90, "b1": 50} {
		l.Observed(id, free)
	}
	return l
}

func TestMostFreeAddresses(t *testing.T) {
	t.Attr("covers", "A277")
	l := ledger()
	for _, want := range []string{"a2 b1", "a1 b1", "a3 b1", "a2 b1"} {
		if _, got := pick(t, l, 20); got != want {
			t.Errorf("picked %s, want %s", got, want)
		}
	}
	l.Observed("a1", 90)
	if _, got := pick(t, l, 20); got != "a1 b1" {
		t.Errorf("after EC2 was heard: %s", got)
	}
	if _, got := pick(t, &subnet.Ledger{}, 20); got != "a1 b1" {
		t.Errorf("of equals not the first is picked: %s", got)
	}
}

func TestWhatIsNotUsedIsGivenBack(t *testing.T) {
	t.Attr("covers", "A278")
	l := ledger()
	choice, _ := pick(t, l, 20)
	l.Settle(choice, []string{"b1"})
	l.Settle(choice, []string{"b1"})
	if _, got := pick(t, l, 20); got != "a2 b1" {
		t.Errorf("a failed launch keeps its addresses: %s", got)
	}
	choice, _ = pick(t, l, 20) // from a1
	l.Settle(choice, []string{"a1"})
	if _, got := pick(t, l, 20); got != "a3 b1" {
		t.Errorf("a launch that succeeded gave its addresses back: %s", got)
	}
	choice, _ = pick(t, l, 20) // from a2, which has 80
	l.Observed("a2", 60)
	l.Settle(choice, nil)
	if _, got := pick(t, l, 20); got == "a2 b1" {
		t.Error("addresses were given back that EC2 had counted already")
	}
}

func TestFullSubnet(t *testing.T) {
	t.Attr("covers", "A286")
	l := ledger()
	choice, _ := pick(t, l, 20)
	l.Full("a2")
	l.Settle(choice, nil)
	for _, want := range []string{"a1 b1", "a3 b1"} {
		if _, got := pick(t, l, 20); got != want {
			t.Errorf("picked %s, want %s", got, want)
		}
	}
}

func TestZones(t *testing.T) {
	if _, err := (&subnet.Ledger{}).Pick(nil, nil); err == nil {
		t.Error("no subnets are no error")
	}
	choice, err := ledger().Pick(subnets, func(zone string) int64 { return map[string]int64{"a": -1, "b": 5}[zone] })
	if err != nil || len(choice.Subnets) != 1 || choice.Subnets[0].ID != "b1" {
		t.Errorf("got %v, %v", choice.Subnets, err)
	}
}

// TestFailedLaunchesLeaveNoTrace lets launches overlap in any order; when all have failed, the ledger is as it was.
func TestFailedLaunchesLeaveNoTrace(t *testing.T) {
	t.Attr("covers", "A278")
	rapid.Check(t, func(r *rapid.T) {
		l := ledger()
		var open []subnet.Choice
		for _, need := range rapid.SliceOf(rapid.Int64Range(0, 50)).Draw(r, "launches") {
			choice, err := l.Pick(subnets, func(string) int64 { return need })
			if err != nil {
				r.Fatal(err)
			}
			open = append(open, choice)
		}
		for _, choice := range rapid.Permutation(open).Draw(r, "order") {
			l.Settle(choice, nil)
		}
		for _, want := range []string{"a2", "a1", "a3"} {
			choice, err := l.Pick(subnets, func(string) int64 { return 15 })
			if err != nil || choice.Subnets[0].ID != want {
				r.Errorf("picked %v, want %s", choice.Subnets, want)
			}
		}
	})
}
