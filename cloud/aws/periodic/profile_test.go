package periodic_test

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/cloud/aws/periodic"
	"github.com/karpenter-anew/karpenter/cloud/aws/profile"
	"github.com/karpenter-anew/karpenter/test/apiserver"
)

func TestUnusedProfiles(t *testing.T) {
	t.Attr("covers", "A347")
	clock := clocktesting.NewFakeClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	account := awstest.New(awstest.Options{Clock: clock, Types: []string{"m5.large"}})
	c := apiserver.New().WithStatusSubresource(&awsv1.EC2NodeClass{}).Build()
	keeper := profile.NewManager(profile.Options{
		IAM: iam.NewFromConfig(awstest.Connect(t, account)), Clock: clock, Cluster: "test", Region: "us-east-1", Unique: func() string { return "unique" },
	})
	for name, path := range map[string]string{
		"active": "/karpenter/us-east-1/test/uid/", "launched": "/karpenter/us-east-1/test/gone/", "unused": "/karpenter/us-east-1/test/uid/", "orphan": "/karpenter/us-east-1/test/gone/",
		"another-cluster": "/karpenter/us-east-1/other/uid/", "another-region": "/karpenter/eu-west-1/test/uid/", "elsewhere": "/",
	} {
		account.AddProfile(awstest.Profile{Name: name, Path: path, Roles: []string{awstest.Role}, Tags: map[string]string{awsv1.ClusterOwnedTag("test"): "owned"}})
	}
	class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "uid"}, Status: awsv1.EC2NodeClassStatus{InstanceProfile: "active"}}
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: map[string]string{awsv1.AnnotationInstanceProfile: "launched"}}}
	claim.Spec.NodeClassRef = &v1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}
	if err := c.Create(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	fresh := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "fresh", UID: "fresh"}, Spec: awsv1.EC2NodeClassSpec{Role: awstest.Role}}
	made, err := keeper.Ensure(t.Context(), fresh) // the status of the class does not tell of it yet
	if err != nil {
		t.Fatal(err)
	}
	collect := func(want ...string) {
		t.Helper()
		if err := (periodic.Profiles{Keeper: keeper, Client: c}).Collect(t.Context()); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range account.Profiles() {
			got = append(got, p.Name)
		}
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("profiles (-want +got)\n%s", diff)
		}
	}
	collect("active", "launched", "another-cluster", "another-region", "elsewhere", made)
	clock.Step(59 * time.Minute)
	collect("active", "launched", "another-cluster", "another-region", "elsewhere", made)
	clock.Step(time.Minute)
	collect("active", "launched", "another-cluster", "another-region", "elsewhere")
	if err := c.Delete(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	collect("active", "another-cluster", "another-region", "elsewhere")
	account.Fail("DeleteInstanceProfile", "ServiceFailure", "no", 1)
	if err := c.Delete(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	if err := (periodic.Profiles{Keeper: keeper, Client: c}).Collect(t.Context()); err == nil {
		t.Error("a profile that could not be removed is not told")
	}
	collect("another-cluster", "another-region", "elsewhere")
}
