package nodeclass_test

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/cloud/aws/nodeclass"
	"github.com/karpenter-anew/karpenter/cloud/aws/provider"
)

func TestTheEndOfAClass(t *testing.T) {
	end := func(w *world) {
		w.t.Helper()
		if err := w.client.Delete(w.t.Context(), w.class()); err != nil {
			w.t.Fatal(err)
		}
	}
	run := func(w *world) (gone bool, result reconcile.Result, err error) {
		key := client.ObjectKey{Name: "default"}
		result, err = w.controller.Reconcile(w.t.Context(), reconcile.Request{NamespacedName: key})
		return apierrors.IsNotFound(w.client.Get(w.t.Context(), key, &awsv1.EC2NodeClass{})), result, err
	}
	t.Run("claims hold it", func(t *testing.T) {
		t.Attr("covers", "A163")
		w := newWorld(t)
		w.add(nil)
		w.expect(awsv1.ConditionTypeReady, "True")
		var claims []*v1.NodeClaim
		for _, name := range []string{"f", "a", "c", "b", "e", "d"} {
			claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
			claim.Spec.NodeClassRef = &v1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}
			if err := w.client.Create(t.Context(), claim); err != nil {
				t.Fatal(err)
			}
			claims = append(claims, claim)
		}
		end(w)
		for range 2 { // and again each time
			if gone, result, err := run(w); gone || err != nil || result.RequeueAfter != 10*time.Minute || len(w.account.Profiles()) != 1 {
				t.Errorf("%t, %v, %v", gone, result, err)
			}
			if got := <-w.events; got != "Normal WaitingOnNodeClaimTermination Waiting on NodeClaim termination for a, b, c, d, e and 1 other(s)" {
				t.Errorf("told %q", got)
			}
			w.clock.Step(10 * time.Minute)
		}
		for _, claim := range claims {
			if err := w.client.Delete(t.Context(), claim); err != nil {
				t.Fatal(err)
			}
		}
		if gone, _, err := run(w); !gone || err != nil || len(w.account.Profiles()) != 0 {
			t.Errorf("%t, %v, %v", gone, err, w.account.Profiles())
		}
	})
	t.Run("its results are forgotten", func(t *testing.T) {
		t.Attr("covers", "A160")
		w := newWorld(t)
		own := "mine"
		w.account.AddProfile(awstest.Profile{Name: own})
		same := func(c *awsv1.EC2NodeClass) { c.Spec.Role, c.Spec.InstanceProfile = "", &own }
		w.account.Fail("CreateFleet", "UnauthorizedOperation", "no", -1)
		w.add(same)
		w.expect(awsv1.ConditionTypeValidationSucceeded, "False CreateFleetAuthCheckFailed")
		w.account.Recover("CreateFleet")
		w.expect(awsv1.ConditionTypeValidationSucceeded, "False CreateFleetAuthCheckFailed") // it is remembered
		end(w)
		if gone, _, err := run(w); !gone || err != nil {
			t.Fatalf("%t, %v", gone, err)
		}
		w.add(same)
		w.expect(awsv1.ConditionTypeValidationSucceeded, "True")
	})
	t.Run("IAM is not asked", func(t *testing.T) {
		t.Attr("covers", "A166 A167")
		own := "mine"
		for name, change := range map[string]func(*provider.Options, *nodeclass.Options){
			"own": func(*provider.Options, *nodeclass.Options) {}, "no way": func(_ *provider.Options, o *nodeclass.Options) { o.Profiles = nil },
		} {
			w := newWorld(t, change)
			w.account.AddProfile(awstest.Profile{Name: own})
			w.add(func(c *awsv1.EC2NodeClass) { c.Spec.Role, c.Spec.InstanceProfile = "", &own })
			w.expect(awsv1.ConditionTypeReady, "True")
			end(w)
			if gone, _, err := run(w); !gone || err != nil || len(w.account.Profiles()) != 1 || len(w.account.Calls("ListInstanceProfiles"))+len(w.account.Calls("GetInstanceProfile")) != 0 {
				t.Errorf("%s: %t, %v, %v", name, gone, err, w.account.Profiles())
			}
		}
	})
	t.Run("its launch templates", func(t *testing.T) {
		t.Attr("covers", "A169")
		w := newWorld(t)
		w.add(nil)
		w.expect(awsv1.ConditionTypeReady, "True")
		if len(w.account.LaunchTemplates()) != 1 {
			t.Fatalf("templates %v", w.account.LaunchTemplates())
		}
		other := w.class()
		other.Name = "other"
		if _, err := w.provider.Requests.DryRun(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		end(w)
		w.account.Fail("DeleteLaunchTemplate", "UnauthorizedOperation", "no", 1)
		if gone, _, err := run(w); gone || err == nil {
			t.Errorf("%t, %v", gone, err)
		}
		if gone, _, err := run(w); !gone || err != nil || len(w.account.LaunchTemplates()) != 1 || w.account.LaunchTemplates()[0].Tags[awsv1.TagNodeClass] != "other" {
			t.Errorf("%t, %v, %v", gone, err, w.account.LaunchTemplates())
		}
	})
}

func TestHash(t *testing.T) {
	w := newWorld(t)
	w.add(nil)
	run := func() *awsv1.EC2NodeClass {
		t.Helper()
		if _, err := w.hasher.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "default"}}); err != nil {
			t.Fatal(err)
		}
		return w.class()
	}
	claim := func(name string, drifted bool, version string) {
		t.Helper()
		c := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{awsv1.AnnotationHash: "old", awsv1.AnnotationHashVersion: version}}}
		c.Spec.NodeClassRef = &v1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}
		if drifted {
			c.Status.Conditions = []metav1.Condition{{Type: v1.ConditionTypeDrifted, Status: metav1.ConditionTrue}}
		}
		if err := w.client.Create(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if err := w.client.Status().Update(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	hashOf := func(name string) string {
		t.Helper()
		c := &v1.NodeClaim{}
		if err := w.client.Get(t.Context(), client.ObjectKey{Name: name}, c); err != nil {
			t.Fatal(err)
		}
		return c.Annotations[awsv1.AnnotationHash] + "/" + c.Annotations[awsv1.AnnotationHashVersion]
	}
	first := run()
	hash := first.Annotations[awsv1.AnnotationHash]
	t.Run("the annotations follow what counts", func(t *testing.T) {
		t.Attr("covers", "A170 A174")
		if hash != first.Hash("") || first.Annotations[awsv1.AnnotationHashVersion] != awsv1.HashVersion {
			t.Errorf("annotations %v", first.Annotations)
		}
		w.change(func(c *awsv1.EC2NodeClass) {
			c.Spec.SubnetSelectorTerms = []awsv1.SubnetSelectorTerm{{ID: "subnet-a1"}}
		})
		if got := run().Annotations[awsv1.AnnotationHash]; got != hash {
			t.Error("a field that does not count has changed the hash")
		}
		w.change(func(c *awsv1.EC2NodeClass) { c.Spec.Tags = map[string]string{"a": "b"} })
		if got := run().Annotations[awsv1.AnnotationHash]; got == hash {
			t.Error("a field that counts has not changed the hash")
		}
	})
	t.Run("within a version claims stay", func(t *testing.T) {
		t.Attr("covers", "A173")
		claim("same", false, awsv1.HashVersion)
		w.change(func(c *awsv1.EC2NodeClass) { c.Spec.Tags = map[string]string{"a": "c"} })
		run()
		if got := hashOf("same"); got != "old/"+awsv1.HashVersion {
			t.Errorf("got %s", got)
		}
	})
	t.Run("another version", func(t *testing.T) {
		t.Attr("covers", "A171 A172 N327 N531")
		claim("plain", false, "v5") // of version 1.14 of upstream
		claim("drifted", true, "v5")
		w.change(func(c *awsv1.EC2NodeClass) { c.Annotations[awsv1.AnnotationHashVersion] = "v5" })
		working := w.hasher.Client
		w.hasher.Client = interceptor.NewClient(w.client, interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
			if o.GetName() == "plain" {
				return errors.New("no")
			}
			return c.Patch(ctx, o, patch, options...)
		}})
		if _, err := w.hasher.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "default"}}); err == nil || w.class().Annotations[awsv1.AnnotationHashVersion] != "v5" {
			t.Errorf("a class with a claim that is not migrated has the new version: %v, %v", err, w.class().Annotations)
		}
		w.hasher.Client = working
		class := run()
		if got := hashOf("plain"); got != class.Annotations[awsv1.AnnotationHash]+"/"+awsv1.HashVersion {
			t.Errorf("plain: %s", got)
		}
		if got := hashOf("drifted"); got != "old/"+awsv1.HashVersion {
			t.Errorf("drifted: %s", got)
		}
	})
	t.Run("objects of version 1.15 of upstream", func(t *testing.T) {
		t.Attr("covers", "N532")
		before := w.class()
		if now := run(); now.ResourceVersion != before.ResourceVersion || before.Annotations[awsv1.AnnotationHashVersion] != "v6" {
			t.Errorf("the class was written: %v, then %v", before.Annotations, now.Annotations)
		}
	})
}
