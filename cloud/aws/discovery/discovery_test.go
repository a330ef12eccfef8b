package discovery_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/cloud/aws/discovery"
	"github.com/karpenter-anew/karpenter/cloud/aws/reservation"
	"github.com/karpenter-anew/karpenter/cloud/aws/subnet"
)

// world is a finder in an account.
type world struct {
	*awstest.Account
	*discovery.Finder
	t            *testing.T
	clock        *clocktesting.FakeClock
	addresses    *subnet.Ledger
	reservations *reservation.Ledger
	classes      int
}

func newWorld(t *testing.T, o awstest.Options) *world {
	t.Helper()
	w := &world{t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)), addresses: &subnet.Ledger{}, reservations: &reservation.Ledger{}}
	o.Clock, o.Types = w.clock, []string{"m5.large"}
	w.Account = awstest.New(o)
	config := awstest.Connect(t, w.Account)
	w.Finder = discovery.New(discovery.Options{
		EC2: ec2.NewFromConfig(config), Parameters: ssm.NewFromConfig(config), Clock: w.clock, Addresses: w.addresses, Reservations: w.reservations,
	})
	return w
}

// class is a class that was not seen before.
func (w *world) class(spec awsv1.EC2NodeClassSpec) *awsv1.EC2NodeClass {
	w.classes++
	c := &awsv1.EC2NodeClass{Spec: spec}
	c.UID, c.Generation = "uid", int64(w.classes)
	return c
}

// show is a list of subnets or groups as text, or the error.
func show[T any](list []T, err error, text func(T) string) string {
	if err != nil {
		return "error: " + err.Error()
	}
	var out []string
	for _, element := range list {
		out = append(out, text(element))
	}
	return strings.Join(out, " ")
}

func (w *world) showSubnets(terms ...awsv1.SubnetSelectorTerm) string {
	found, err := w.Subnets(w.t.Context(), w.class(awsv1.EC2NodeClassSpec{SubnetSelectorTerms: terms}))
	return show(found, err, func(s awsv1.Subnet) string { return s.ID })
}

func tags(pairs ...string) map[string]string {
	out := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = pairs[i+1]
	}
	return out
}

func TestSubnets(t *testing.T) {
	t.Attr("covers", "A081 A082 A083")
	w := newWorld(t, awstest.Options{})
	w.RemoveSubnets()
	for _, s := range []awstest.Subnet{
		{ID: "subnet-1", Zone: "us-east-1a", ZoneID: "use1-az1", Free: 10, Tags: tags("a", "1", "b", "1")},
		{ID: "subnet-2", Zone: "us-east-1b", Free: 30, Tags: tags("a", "1", "b", "2")},
		{ID: "subnet-3", Zone: "us-east-1b", Free: 10, Tags: tags("a", "2")},
	} {
		w.AddSubnet(s)
	}
	byTags := func(pairs ...string) awsv1.SubnetSelectorTerm { return awsv1.SubnetSelectorTerm{Tags: tags(pairs...)} }
	byID := func(id string) awsv1.SubnetSelectorTerm { return awsv1.SubnetSelectorTerm{ID: id} }
	for _, test := range []struct {
		name, want string
		terms      []awsv1.SubnetSelectorTerm
	}{
		{"tags", "subnet-2 subnet-1", []awsv1.SubnetSelectorTerm{byTags("a", "1")}},
		{"one id", "subnet-3", []awsv1.SubnetSelectorTerm{byID("subnet-3")}},
		{"several ids, with equal capacity by id", "subnet-1 subnet-3", []awsv1.SubnetSelectorTerm{byID("subnet-3"), byID("subnet-1")}},
		{"tags and id", "subnet-2 subnet-1 subnet-3", []awsv1.SubnetSelectorTerm{byID("subnet-3"), byTags("a", "1")}},
		{"tags of a term narrow", "subnet-2", []awsv1.SubnetSelectorTerm{byTags("a", "1", "b", "2")}},
		{"terms widen, and nothing comes twice", "subnet-2 subnet-1", []awsv1.SubnetSelectorTerm{byTags("b", "2"), byTags("b", "1"), byTags("a", "1")}},
		{"any value", "subnet-2 subnet-1", []awsv1.SubnetSelectorTerm{byTags("b", "*")}},
		{"no such tag", "", []awsv1.SubnetSelectorTerm{byTags("c", "*")}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := w.showSubnets(test.terms...); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if choice, err := w.addresses.Pick([]awsv1.Subnet{{ID: "subnet-1", Zone: "x"}, {ID: "subnet-2", Zone: "x"}}, func(string) int64 { return 1 }); err != nil || choice.Subnets[0].ID != "subnet-2" {
		t.Errorf("free addresses are not known: %v, %v", choice, err)
	}
}

func TestAllPagesOfSubnetsCount(t *testing.T) {
	t.Attr("covers", "A086")
	w := newWorld(t, awstest.Options{})
	w.RemoveSubnets()
	for i := range 1203 {
		w.AddSubnet(awstest.Subnet{ID: fmt.Sprintf("subnet-%d", i), Zone: "us-east-1a", Tags: tags("a", "1")})
	}
	if got := strings.Fields(w.showSubnets(awsv1.SubnetSelectorTerm{Tags: tags("a", "*")})); len(got) != 1203 || len(w.Calls("DescribeSubnets")) != 3 {
		t.Errorf("%d subnets in %d calls", len(got), len(w.Calls("DescribeSubnets")))
	}
}

func TestNetworkIsRememberedByGeneration(t *testing.T) {
	t.Attr("covers", "A087 A090")
	w := newWorld(t, awstest.Options{})
	class := w.class(awsv1.EC2NodeClassSpec{
		SubnetSelectorTerms:        []awsv1.SubnetSelectorTerm{{Tags: tags("karpenter.sh/discovery", "test")}},
		SecurityGroupSelectorTerms: []awsv1.SecurityGroupSelectorTerm{{Tags: tags("karpenter.sh/discovery", "test")}},
	})
	ask := func(want int) {
		t.Helper()
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				subnets, err := w.Subnets(t.Context(), class)
				if err != nil || len(subnets) != 3 {
					t.Errorf("%v, %v", subnets, err)
				}
				if len(subnets) > 0 {
					subnets[0].ID = "changed by a caller"
				}
				if groups, err := w.SecurityGroups(t.Context(), class); err != nil || len(groups) != 2 {
					t.Errorf("%v, %v", groups, err)
				}
			})
		}
		all.Wait()
		if s, g := len(w.Calls("DescribeSubnets")), len(w.Calls("DescribeSecurityGroups")); s != want || g != want {
			t.Errorf("%d and %d calls, want %d", s, g, want)
		}
	}
	ask(1)
	class.Generation++
	ask(2)
	w.clock.Step(time.Minute)
	ask(3)
}

func TestSecurityGroups(t *testing.T) {
	t.Attr("covers", "A088")
	w := newWorld(t, awstest.Options{})
	w.RemoveSecurityGroups()
	for _, g := range []awstest.SecurityGroup{
		{ID: "sg-b", Name: "web", Tags: tags("a", "1", "b", "1")}, {ID: "sg-a", Name: "web-2", Tags: tags("a", "1")}, {ID: "sg-c", Name: "db", Tags: tags("a", "2")},
	} {
		w.AddSecurityGroup(g)
	}
	for _, test := range []struct {
		name, want string
		terms      []awsv1.SecurityGroupSelectorTerm
	}{
		{"tag", "sg-a/web-2 sg-b/web", []awsv1.SecurityGroupSelectorTerm{{Tags: tags("a", "1")}}},
		{"several tags", "sg-b/web", []awsv1.SecurityGroupSelectorTerm{{Tags: tags("a", "1", "b", "*")}}},
		{"id", "sg-c/db", []awsv1.SecurityGroupSelectorTerm{{ID: "sg-c"}}},
		{"ids", "sg-a/web-2 sg-c/db", []awsv1.SecurityGroupSelectorTerm{{ID: "sg-c"}, {ID: "sg-a"}}},
		{"name", "sg-b/web", []awsv1.SecurityGroupSelectorTerm{{Name: "web"}}},
		{"name with wildcard", "sg-a/web-2 sg-b/web", []awsv1.SecurityGroupSelectorTerm{{Name: "web*"}}},
		{"several terms, each once", "sg-a/web-2 sg-b/web sg-c/db", []awsv1.SecurityGroupSelectorTerm{{Name: "web"}, {ID: "sg-b"}, {Tags: tags("a", "*")}}},
		{"none", "", []awsv1.SecurityGroupSelectorTerm{{Name: "missing"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			found, err := w.SecurityGroups(t.Context(), w.class(awsv1.EC2NodeClassSpec{SecurityGroupSelectorTerms: test.terms}))
			if got := show(found, err, func(g awsv1.SecurityGroup) string { return g.ID + "/" + g.Name }); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestAllPagesOfSecurityGroupsCount(t *testing.T) {
	t.Attr("covers", "A090")
	w := newWorld(t, awstest.Options{})
	for i := range 700 {
		w.AddSecurityGroup(awstest.SecurityGroup{ID: fmt.Sprintf("sg-%04d", i), Tags: tags("a", "1")})
	}
	found, err := w.SecurityGroups(t.Context(), w.class(awsv1.EC2NodeClassSpec{SecurityGroupSelectorTerms: []awsv1.SecurityGroupSelectorTerm{{Tags: tags("a", "1")}}}))
	if err != nil || len(found) != 700 {
		t.Errorf("%d groups, %v", len(found), err)
	}
}

func TestCapacityReservations(t *testing.T) {
	t.Attr("covers", "A109 A110 A111 A112 A113")
	w := newWorld(t, awstest.Options{})
	now := w.clock.Now()
	for _, r := range []awstest.Reservation{
		{ID: "cr-1", Tags: tags("a", "1", "b", "1"), Left: 3},
		{ID: "cr-2", Owner: "210987654321", Match: "open", Tags: tags("a", "1")},
		{ID: "cr-3", Kind: "capacity-block", End: now.Add(time.Hour), Tags: tags("kind", "block")},
		{ID: "cr-4", Kind: "default", End: now.Add(time.Minute), Tags: tags("kind", "ends")},
		{ID: "cr-5", End: now, Tags: tags("a", "1", "kind", "ended")},
		{ID: "cr-6", Interruptible: true, Tags: tags("kind", "borrowed")},
		{ID: "cr-7", Kind: "unheard-of", Tags: tags("a", "1")},
	} {
		r.InstanceType, r.Zone = "m5.large", "us-east-1a"
		w.AddReservation(r)
	}
	list := func(term awsv1.CapacityReservationSelectorTerm) string {
		found, err := w.CapacityReservations(t.Context(), w.class(awsv1.EC2NodeClassSpec{CapacityReservationSelectorTerms: []awsv1.CapacityReservationSelectorTerm{term}}))
		return show(found, err, func(r awsv1.CapacityReservation) string {
			return fmt.Sprintf("%s/%s/%s/%t", r.ID, r.ReservationType, r.State, r.Interruptible)
		})
	}
	for _, test := range []struct {
		name, want string
		term       awsv1.CapacityReservationSelectorTerm
	}{
		{"id", "cr-1/default/active/false", awsv1.CapacityReservationSelectorTerm{ID: "cr-1"}},
		{"an id that is not there", "", awsv1.CapacityReservationSelectorTerm{ID: "cr-0"}},
		{"tags, without what has ended", "cr-1/default/active/false cr-2/default/active/false", awsv1.CapacityReservationSelectorTerm{Tags: tags("a", "1")}},
		{"tags together", "cr-1/default/active/false", awsv1.CapacityReservationSelectorTerm{Tags: tags("a", "1", "b", "*")}},
		{"two tags", "cr-1/default/active/false", awsv1.CapacityReservationSelectorTerm{Tags: tags("a", "1", "b", "1")}},
		{"one tag that reads like these two", "", awsv1.CapacityReservationSelectorTerm{Tags: tags("a", "1 b:1")}},
		{"owner", "cr-2/default/active/false", awsv1.CapacityReservationSelectorTerm{Tags: tags("a", "1"), OwnerID: "210987654321"}},
		{"criteria", "cr-2/default/active/false", awsv1.CapacityReservationSelectorTerm{InstanceMatchCriteria: "open"}},
		{"by id", "", awsv1.CapacityReservationSelectorTerm{ID: "cr-5"}},
		{"a block", "cr-3/capacity-block/active/false", awsv1.CapacityReservationSelectorTerm{ID: "cr-3"}},
		{"others do not expire", "cr-4/default/active/false", awsv1.CapacityReservationSelectorTerm{ID: "cr-4"}},
		{"what may be taken back", "cr-6/default/active/true", awsv1.CapacityReservationSelectorTerm{ID: "cr-6"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := list(test.term); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if w.reservations.Left("cr-1") != 3 {
		t.Error("what is left of a reservation is not known")
	}
	t.Run("the last 40 minutes of a block", func(t *testing.T) {
		t.Attr("covers", "A111")
		w.clock.Step(20*time.Minute - time.Second)
		block := awsv1.CapacityReservationSelectorTerm{ID: "cr-3"}
		if got := list(block); got != "cr-3/capacity-block/active/false" {
			t.Errorf("before: %s", got)
		}
		w.clock.Step(time.Second) // well within the minute for which answers are remembered
		if got := list(block); got != "cr-3/capacity-block/expiring/false" {
			t.Errorf("then: %s", got)
		}
	})
}

func TestPlacementGroups(t *testing.T) {
	t.Attr("covers", "A115 A116 A117 A118 A119 A121")
	w := newWorld(t, awstest.Options{})
	for _, g := range []awstest.PlacementGroup{
		{ID: "pg-1", Name: "close", Strategy: "cluster"},
		{ID: "pg-2", Name: "parts", Strategy: "partition", Partitions: 5},
		{ID: "pg-3", Name: "apart", Strategy: "spread", SpreadLevel: "rack"},
		{ID: "pg-4", Name: "leaving", Strategy: "cluster", State: "deleting"},
		{ID: "pg-5", Name: "pg-1", Strategy: "spread"},
		{ID: "pg-7", Name: "twin", Strategy: "cluster"},
		{ID: "pg-6", Name: "twin", Strategy: "spread"},
	} {
		w.AddPlacementGroup(g)
	}
	find := func(ctx context.Context, name, id string) (string, error) {
		class := w.class(awsv1.EC2NodeClassSpec{})
		switch {
		case name != "":
			class.Spec.PlacementGroupSelector = &awsv1.PlacementGroupSelector{Name: &name}
		case id != "":
			class.Spec.PlacementGroupSelector = &awsv1.PlacementGroupSelector{ID: &id}
		}
		g, err := w.PlacementGroup(ctx, class)
		if g == nil {
			return "", err
		}
		return fmt.Sprintf("%s/%s/%d/%s", g.ID, g.Strategy, g.Partitions, g.SpreadLevel), err
	}
	for _, test := range []struct{ name, byName, byID, want string }{
		{"none is asked for", "", "", ""},
		{"cluster by name", "close", "", "pg-1/cluster/0/"},
		{"partition by name", "parts", "", "pg-2/partition/5/"},
		{"spread by id", "", "pg-3", "pg-3/spread/0/rack"},
		{"not there", "missing", "", ""},
		{"not there by id", "", "pg-0", ""},
		{"not available", "leaving", "", ""},
		{"a name that looks like an id", "pg-1", "", "pg-5/spread/0/"},
		{"the first of several", "twin", "", "pg-7/cluster/0/"},
		{"the id beside the name", "", "pg-1", "pg-1/cluster/0/"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got, err := find(t.Context(), test.byName, test.byID); err != nil || got != test.want {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
		})
	}
	t.Run("remembered, and old rather than none", func(t *testing.T) {
		t.Attr("covers", "A119 A120")
		w.Forget()
		w.Fail("DescribePlacementGroups", awstest.Throttled, "slow down", 1)
		if got, err := find(t.Context(), "close", ""); err != nil || got != "pg-1/cluster/0/" || len(w.Calls("")) != 0 {
			t.Errorf("got %q, %v after %d calls", got, err, len(w.Calls("")))
		}
		w.clock.Step(time.Minute)
		if got, err := find(t.Context(), "close", ""); err == nil || got != "pg-1/cluster/0/" {
			t.Errorf("got %q, %v", got, err)
		}
		w.Fail("DescribePlacementGroups", awstest.Throttled, "slow down", 1)
		if got, err := find(t.Context(), "never asked", ""); err == nil || got != "" {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

func TestImages(t *testing.T) {
	t.Attr("covers", "A092 A093 A095 A096 A097 A105")
	alias := func(text string) []awsv1.AMISelectorTerm { return []awsv1.AMISelectorTerm{{Alias: text}} }
	w := newWorld(t, awstest.Options{})
	list := func(version string, terms []awsv1.AMISelectorTerm) string {
		found, err := w.Images(t.Context(), w.class(awsv1.EC2NodeClassSpec{AMISelectorTerms: terms}), version)
		return show(found, err, func(i awsv1.AMI) string {
			var keys []string
			for _, r := range i.Requirements {
				keys = append(keys, strings.TrimPrefix(r.Key, "karpenter.k8s.aws/")+" "+string(r.Operator)+strings.Join(append([]string{""}, r.Values...), " "))
			}
			return i.Name + "(" + strings.Join(keys, ", ") + ")"
		})
	}
	day := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	for _, i := range []awstest.Image{
		{ID: "ami-1", Name: "mine-1", Architecture: "x86_64", Owner: awstest.AccountID, Created: day, Tags: tags("kubernetes.io/arch", "arm64", "team", "a")},
		{ID: "ami-2", Name: "mine-2", Architecture: "x86_64", Owner: awstest.AccountID, Created: day.AddDate(0, 1, 0)},
		{ID: "ami-3", Name: "theirs", Architecture: "arm64", Owner: "210987654321", Created: day, Tags: tags("team", "a")},
		{ID: "ami-4", Name: "pending", Architecture: "arm64", Owner: awstest.AccountID, Created: day, State: "pending"},
	} {
		w.AddImage(i)
	}
	w.SetParameter("/mine/image", "ami-2")
	w.SetParameter("/mine/nonsense", "nothing")
	const x86, arm = "(kubernetes.io/arch In amd64)", "(kubernetes.io/arch In arm64)"
	for _, test := range []struct {
		name, version, want string
		terms               []awsv1.AMISelectorTerm
	}{
		{"AL2 has ended", "1.33", "error: AL2 aliases are no longer supported on EKS 1.33+ (version 1.33)", alias("al2@latest")},
		{"Windows 2025 has not begun", "1.34", "error: Windows Server 2025 requires EKS version 1.35 or higher, current version: 1.34", alias("windows2025@latest")},
		{"no parameter", "1.31", "error: failed to discover any AMIs for alias", alias("al2023@latest")},
		{"a parameter", "1.34", "mine-2" + x86, []awsv1.AMISelectorTerm{{SSMParameter: "/mine/image"}}},
		{"a parameter and an id", "1.34", "mine-2" + x86, []awsv1.AMISelectorTerm{{SSMParameter: "/mine/image"}, {ID: "ami-1"}}},
		{"a parameter that is missing", "1.34", "mine-1" + x86, []awsv1.AMISelectorTerm{{SSMParameter: "/mine/none"}, {ID: "ami-1"}}},
		{"a parameter that is no image", "1.34", "mine-1" + x86, []awsv1.AMISelectorTerm{{SSMParameter: "/mine/nonsense"}, {ID: "ami-1"}}},
		{"tags are no requirements", "1.34", "mine-1" + x86, []awsv1.AMISelectorTerm{{ID: "ami-1"}}},
		{"a name, among one's own", "1.34", "", []awsv1.AMISelectorTerm{{Name: "theirs"}}},
		{"a name and an owner", "1.34", "theirs" + arm, []awsv1.AMISelectorTerm{{Name: "th*", Owner: "210987654321"}}},
		{"tags, of anyone", "1.34", "mine-1" + x86 + " theirs" + arm, []awsv1.AMISelectorTerm{{Tags: tags("team", "a")}}},
		{"not available", "1.34", "", []awsv1.AMISelectorTerm{{ID: "ami-4"}}},
		{"a malformed alias", "1.34", `error: alias "al2023@a@b" does not have the form family@version`, alias("al2023@a@b")},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := list(test.version, test.terms); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
	t.Run("an alias", func(t *testing.T) {
		t.Attr("covers", "A091 A094")
		// There is no neuron image for ARM. Bottlerocket publishes only four paths.
		for text, want := range map[string][]string{
			"al2023@latest": {"x86_64-neuron", "x86_64-nvidia", "x86_64-standard", "arm64-nvidia", "arm64-standard"},
			"al2023@v20260101": {
				"x86_64-standard", "arm64-standard", "x86_64-nvidia",
			},
			"bottlerocket@latest": {"-x86_64", "-arm64", "nvidia-x86_64", "nvidia-arm64"},
		} {
			got := list("1.34", alias(text))
			for _, part := range want {
				if !strings.Contains(got, part) {
					t.Errorf("%s gives %s, without %s", text, got, part)
				}
			}
			if !strings.Contains(got, "instance-gpu-count DoesNotExist, instance-accelerator-count DoesNotExist") || !strings.Contains(got, "instance-gpu-count Exists") {
				t.Errorf("%s: the requirements of variants are missing: %s", text, got)
			}
		}
	})
}

func TestParametersThatFail(t *testing.T) {
	t.Attr("covers", "A094 A097")
	const standard = "/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/arm64/standard/recommended/image_id"
	w := newWorld(t, awstest.Options{})
	class := func(term awsv1.AMISelectorTerm) *awsv1.EC2NodeClass {
		return w.class(awsv1.EC2NodeClassSpec{AMISelectorTerms: []awsv1.AMISelectorTerm{term}})
	}
	w.SetParameter(standard, "")
	found, err := w.Images(t.Context(), class(awsv1.AMISelectorTerm{Alias: "al2023@latest"}), "1.34")
	if got := show(found, err, func(i awsv1.AMI) string { return i.Name }); strings.Contains(got, "arm64-standard") || !strings.Contains(got, "x86_64-standard") {
		t.Errorf("got %s", got)
	}
	w.Fail("GetParameter", "AccessDeniedException", "not allowed", 1)
	if _, err := w.Images(t.Context(), class(awsv1.AMISelectorTerm{Alias: "bottlerocket@latest"}), "1.34"); err == nil {
		t.Error("a parameter that may not be read was taken for missing")
	}
	w.Fail("GetParameter", "ThrottlingException", "slow down", 1)
	if _, err := w.Images(t.Context(), class(awsv1.AMISelectorTerm{SSMParameter: "/mine"}), "1.34"); err == nil {
		t.Error("a parameter that could not be read was passed over")
	}
}

func TestImagesAreRemembered(t *testing.T) {
	t.Attr("covers", "A107 A108")
	for name, term := range map[string]awsv1.AMISelectorTerm{
		"ids": {ID: "ami-1"}, "names": {Name: "mine"}, "tags": {Tags: tags("a", "*")}, "alias": {Alias: "al2023@latest"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, awstest.Options{})
			w.AddImage(awstest.Image{ID: "ami-1", Name: "mine", Architecture: "x86_64", Owner: awstest.AccountID, Tags: tags("a", "1")})
			class := w.class(awsv1.EC2NodeClassSpec{AMISelectorTerms: []awsv1.AMISelectorTerm{term}})
			ask := func(images, parameters int) {
				t.Helper()
				var all sync.WaitGroup
				for range 20 {
					all.Go(func() {
						if found, err := w.Images(t.Context(), class, "1.34"); err != nil || len(found) == 0 {
							t.Errorf("%v, %v", found, err)
						}
					})
				}
				all.Wait()
				if name != "alias" {
					parameters = 0
				}
				if diff := cmp.Diff([]int{images, parameters}, []int{len(w.Calls("DescribeImages")), len(w.Calls("GetParameter"))}); diff != "" {
					t.Errorf("calls (-want +got)\n%s", diff)
				}
			}
			ask(1, 5)
			class.Generation++
			ask(2, 5)
			w.clock.Step(time.Minute)
			ask(3, 5)
			w.clock.Step(24 * time.Hour)
			ask(4, 10)
		})
	}
}
