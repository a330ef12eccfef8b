package profile_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/cloud/aws/profile"
	"github.com/karpenter-anew/karpenter/cloud/aws/resourcetags"
)

// world is a manager with an account.
type world struct {
	*profile.Manager
	t       *testing.T
	account *awstest.Account
	clock   *clocktesting.FakeClock
}

func newWorld(t *testing.T, change ...func(*profile.Options)) *world {
	t.Helper()
	w := &world{t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))}
	w.account = awstest.New(awstest.Options{Clock: w.clock, Types: []string{"m5.large"}})
	w.account.AddRole("other")
	n := 0
	o := profile.Options{
		IAM: iam.NewFromConfig(awstest.Connect(t, w.account)), Clock: w.clock, Cluster: "test", Region: "us-east-1", Unique: func() string { n++; return fmt.Sprint(n) },
	}
	for _, c := range change {
		c(&o)
	}
	w.Manager = profile.NewManager(o)
	return w
}

func classOf(uid, role string) *awsv1.EC2NodeClass {
	c := &awsv1.EC2NodeClass{}
	c.Name, c.UID = "class-"+uid, types.UID("uid-"+uid)
	c.Spec.Role, c.Spec.Tags = role, map[string]string{"team": "a"}
	return c
}

// ensure calls Ensure and records the profile.
func (w *world) ensure(class *awsv1.EC2NodeClass) string {
	w.t.Helper()
	name, err := w.Ensure(w.t.Context(), class)
	if err != nil {
		w.t.Fatal(err)
	}
	class.Status.InstanceProfile = name
	return name
}

// writes are the recorded write calls.
func (w *world) writes() string {
	var out []string
	for _, c := range w.account.Calls("") {
		if !strings.HasPrefix(c.Operation, "Get") && !strings.HasPrefix(c.Operation, "List") {
			out = append(out, c.Operation)
		}
	}
	return strings.Join(out, " ")
}

func TestAMissingProfileIsMade(t *testing.T) {
	t.Attr("covers", "A123 A127")
	w := newWorld(t)
	name := w.ensure(classOf("1", "some/path/"+awstest.Role))
	got := w.account.Profiles()
	want := []awstest.Profile{{
		Name: name, Path: "/karpenter/us-east-1/test/uid-1/", Roles: []string{awstest.Role},
		Tags: map[string]string{
			"team": "a", "kubernetes.io/cluster/test": "owned", "eks:eks-cluster-name": "test", "karpenter.k8s.aws/ec2nodeclass": "class-1", "topology.kubernetes.io/region": "us-east-1",
		},
	}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(awstest.Profile{})); diff != "" || !strings.HasPrefix(name, "test_") {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestAProfileThatIsRightIsNotWritten(t *testing.T) {
	t.Attr("covers", "A124")
	w := newWorld(t)
	class := classOf("1", "some/path/"+awstest.Role)
	name := w.ensure(class)
	w.account.Forget()
	for range 4 {
		if got := w.ensure(class); got != name || w.writes() != "" {
			t.Errorf("got %s after %s", got, w.writes())
		}
		w.clock.Step(16 * time.Minute) // it is looked at again
	}
}

func TestOtherRoles(t *testing.T) {
	t.Run("a profile without role", func(t *testing.T) {
		t.Attr("covers", "A125")
		w := newWorld(t)
		w.account.AddProfile(awstest.Profile{Name: "bare"})
		class := classOf("1", awstest.Role)
		class.Status.InstanceProfile = "bare"
		if name := w.ensure(class); name == "bare" || w.account.Profiles()[1].Roles[0] != awstest.Role {
			t.Errorf("got %s of %v", name, w.account.Profiles())
		}
	})
	t.Run("a wrong role", func(t *testing.T) {
		t.Attr("covers", "A126")
		w := newWorld(t)
		w.account.AddProfile(awstest.Profile{Name: "wrong", Roles: []string{"other"}})
		class := classOf("1", awstest.Role)
		class.Status.InstanceProfile = "wrong"
		if name := w.ensure(class); name == "wrong" || w.account.Profiles()[0].Roles[0] != "other" {
			t.Errorf("got %s of %v", name, w.account.Profiles())
		}
	})
	t.Run("each change", func(t *testing.T) {
		t.Attr("covers", "A128")
		w := newWorld(t)
		class := classOf("1", awstest.Role)
		names := map[string]bool{}
		for _, role := range []string{awstest.Role, "other", awstest.Role, "other"} {
			class.Spec.Role = role
			names[w.ensure(class)] = true
			w.clock.Step(2 * time.Minute)
		}
		if len(names) != 4 {
			t.Errorf("profiles %v", names)
		}
	})
	t.Run("two classes", func(t *testing.T) {
		t.Attr("covers", "A136")
		w := newWorld(t)
		if a, b := w.ensure(classOf("1", awstest.Role)), w.ensure(classOf("2", awstest.Role)); a == b {
			t.Errorf("both have %s", a)
		}
	})
}

func TestNewAndReplacedProfilesAreKept(t *testing.T) {
	t.Attr("covers", "A129")
	w := newWorld(t)
	class := classOf("1", awstest.Role)
	w.ensure(class)
	w.clock.Step(2 * time.Hour)
	class.Spec.Role = "other"
	w.ensure(class)
	for _, want := range []int{2, 2, 0} {
		if err := w.Collect(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if got := len(w.account.Profiles()); got != want {
			t.Errorf("%d profiles, want %d", got, want)
		}
		w.clock.Step(31 * time.Minute)
	}
}

func TestWhatIsUsedIsNotCollected(t *testing.T) {
	w := newWorld(t)
	used, unused := w.ensure(classOf("1", awstest.Role)), w.ensure(classOf("2", awstest.Role))
	w.account.AddProfile(awstest.Profile{Name: "foreign", Path: "/karpenter/us-east-1/another/x/"})
	w.clock.Step(2 * time.Hour)
	if err := w.Collect(t.Context(), map[string]bool{used: true}); err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, p := range w.account.Profiles() {
		left = append(left, p.Name)
	}
	if diff := cmp.Diff([]string{used, "foreign"}, left); diff != "" {
		t.Errorf("%s was to go (-want +got)\n%s", unused, diff)
	}
}

func TestWhatWasJustMadeIsUsedAgain(t *testing.T) {
	t.Attr("covers", "A130")
	w := newWorld(t)
	forgetful := func(uid, role string) string {
		name, err := w.Ensure(t.Context(), classOf(uid, role))
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	first := forgetful("1", awstest.Role)
	if again := forgetful("1", awstest.Role); again != first {
		t.Errorf("%s and %s for the same", first, again)
	}
	if other := forgetful("1", "other"); other == first {
		t.Error("the same for another role")
	}
	if other := forgetful("2", awstest.Role); other == first {
		t.Error("the same for another class")
	}
	w.clock.Step(time.Minute)
	if later := forgetful("1", awstest.Role); later == first {
		t.Error("the same long after")
	}
}

func TestARoleThatDoesNotExist(t *testing.T) {
	t.Attr("covers", "A131 A132")
	w := newWorld(t)
	class := classOf("1", "no-such-role")
	for range 3 {
		if _, err := w.Ensure(t.Context(), class); err == nil || !strings.Contains(err.Error(), "no-such-role") {
			t.Errorf("got %v", err)
		}
	}
	if got := w.writes(); got != "CreateInstanceProfile AddRoleToInstanceProfile DeleteInstanceProfile" || len(w.account.Profiles()) != 0 {
		t.Errorf("calls %s leave %v", got, w.account.Profiles())
	}
	w.account.AddRole("no-such-role")
	w.clock.Step(time.Minute)
	w.ensure(class)
	w.account.Fail("AddRoleToInstanceProfile", "ServiceFailure", "no", 1)
	other := classOf("2", awstest.Role)
	if _, err := w.Ensure(t.Context(), other); err == nil || len(w.account.Profiles()) != 1 {
		t.Errorf("got %v with %v", err, w.account.Profiles())
	}
	w.ensure(other) // another failure is not remembered
}

func TestReadErrorsAreReported(t *testing.T) {
	t.Attr("covers", "A133")
	w := newWorld(t)
	class := classOf("1", awstest.Role)
	w.ensure(class)
	w.clock.Step(20 * time.Minute)
	w.account.Forget()
	w.account.Fail("GetInstanceProfile", "AccessDenied", "no", 1)
	if _, err := w.Ensure(t.Context(), class); err == nil || w.writes() != "" {
		t.Errorf("got %v and %s", err, w.writes())
	}
}

func TestAProfileOfOnesOwn(t *testing.T) {
	t.Attr("covers", "A134 A135")
	w := newWorld(t)
	class := classOf("1", awstest.Role)
	old := w.ensure(class)
	w.clock.Step(2 * time.Hour)
	w.account.Forget()
	own := "mine"
	class.Spec.Role, class.Spec.InstanceProfile = "", &own
	if got := w.ensure(class); got != "mine" || len(w.account.Calls("")) != 0 {
		t.Errorf("got %s after %d calls", got, len(w.account.Calls("")))
	}
	if err := w.Collect(t.Context(), nil); err != nil || len(w.account.Profiles()) != 1 || w.account.Profiles()[0].Name != old {
		t.Errorf("%v, left are %v", err, w.account.Profiles())
	}
}

func TestWithTheClassItsProfilesGo(t *testing.T) {
	t.Attr("covers", "A164 A165")
	w := newWorld(t)
	class, other := classOf("1", awstest.Role), classOf("2", awstest.Role)
	w.ensure(class)
	w.clock.Step(2 * time.Minute)
	class.Spec.Role = "other"
	w.ensure(class)
	kept := w.ensure(other)
	legacy, _ := resourcetags.LegacyProfileName("test", "us-east-1", class.Name)
	w.account.AddProfile(awstest.Profile{Name: legacy, Roles: []string{"other"}, Path: "/", Tags: resourcetags.ProfileTags(nil, "test", "us-east-1", class.Name)})
	w.account.AddProfile(awstest.Profile{Name: "bare", Path: "/karpenter/us-east-1/test/uid-1/", Tags: resourcetags.ProfileTags(nil, "test", "us-east-1", class.Name)})
	for range 2 { // the second time there is nothing left
		if err := w.RemoveAll(t.Context(), class); err != nil {
			t.Fatal(err)
		}
		if got := w.account.Profiles(); len(got) != 1 || got[0].Name != kept {
			t.Errorf("left are %v", got)
		}
	}
}

// TestABadOldNameSparesOnlyOldNames has a cluster whose name is invalid in profile names.
func TestABadOldNameSparesOnlyOldNames(t *testing.T) {
	t.Attr("covers", "A168")
	w := newWorld(t, func(o *profile.Options) { o.Cluster = "test cluster" })
	class := classOf("1", awstest.Role)
	w.account.AddProfile(awstest.Profile{
		Name: "current", Roles: []string{awstest.Role}, Path: resourcetags.ProfilePath("us-east-1", "test cluster", string(class.UID)),
		Tags: resourcetags.ProfileTags(nil, "test cluster", "us-east-1", class.Name),
	})
	if err := w.RemoveAll(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	if got := w.account.Profiles(); len(got) != 0 {
		t.Errorf("left are %v", got)
	}
	for _, call := range w.account.Calls("GetInstanceProfile") {
		if name := call.Parameters["InstanceProfileName"]; name != "current" {
			t.Errorf("IAM is asked for %q", name)
		}
	}
}

// unfiltered is an IAM that ignores the path of lists.
type unfiltered struct{ *iam.Client }

func (u unfiltered) ListInstanceProfiles(ctx context.Context, in *iam.ListInstanceProfilesInput, o ...func(*iam.Options)) (*iam.ListInstanceProfilesOutput, error) {
	return u.Client.ListInstanceProfiles(ctx, &iam.ListInstanceProfilesInput{Marker: in.Marker}, o...)
}

// TestForeignProfilesAreLeftAlone collects and removes profiles where IAM lists all of the account, and where a profile has the path or the
// name of the cluster's, but not its tags.
func TestForeignProfilesAreLeftAlone(t *testing.T) {
	account := awstest.New(awstest.Options{})
	class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "uid"}}
	path := resourcetags.ProfilePath("us-east-1", "test", "uid")
	owned := map[string]string{awsv1.ClusterOwnedTag("test"): "owned", awsv1.TagNodeClass: "default"}
	legacy, _ := resourcetags.LegacyProfileName("test", "us-east-1", "default")
	for _, p := range []awstest.Profile{
		{Name: "Administrator", Path: "/"},
		{Name: "tagged", Path: "/", Tags: owned},
		{Name: "untagged", Path: path},
		{Name: legacy, Path: "/"},
		{Name: "other-cluster", Path: path, Tags: map[string]string{awsv1.ClusterOwnedTag("another"): "owned"}},
		{Name: "ours", Path: path, Tags: owned},
	} {
		p.Roles = []string{awstest.Role}
		account.AddProfile(p)
	}
	m := profile.NewManager(profile.Options{
		IAM: unfiltered{iam.NewFromConfig(awstest.Connect(t, account))}, Clock: clock.RealClock{}, Cluster: "test", Region: "us-east-1",
		Unique: func() string { return "x" },
	})
	if err := m.RemoveAll(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	if err := m.Collect(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, p := range account.Profiles() {
		left = append(left, p.Name)
		if len(p.Roles) != 1 {
			t.Errorf("profile %s lost its role", p.Name)
		}
	}
	if want := []string{"Administrator", "tagged", "untagged", legacy, "other-cluster"}; !slices.Equal(left, want) {
		t.Errorf("left are %v, want %v", left, want)
	}
}
