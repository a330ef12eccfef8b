package front

import (
	"net/http"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/karpenter-anew/karpenter/embedded/apiserver/kind"
)

// review is a kind that is asked and not stored. Every request is allowed, so that every review says so.
type review struct {
	plural, kind string
	namespaced   bool
	answer       func(sent map[string]any) (any, error)
}

// reviews are those of authorization.k8s.io/v1, with which kubectl auth can-i and controllers ask what they may do.
func reviews() []review {
	return []review{
		{"localsubjectaccessreviews", "LocalSubjectAccessReview", true, func(sent map[string]any) (any, error) {
			out := &authorizationv1.LocalSubjectAccessReview{}
			return out, answered(sent, out, &out.TypeMeta, &out.Spec.ResourceAttributes, &out.Spec.NonResourceAttributes, &out.Status)
		}},
		{"selfsubjectaccessreviews", "SelfSubjectAccessReview", false, func(sent map[string]any) (any, error) {
			out := &authorizationv1.SelfSubjectAccessReview{}
			return out, answered(sent, out, &out.TypeMeta, &out.Spec.ResourceAttributes, &out.Spec.NonResourceAttributes, &out.Status)
		}},
		{"selfsubjectrulesreviews", "SelfSubjectRulesReview", false, func(sent map[string]any) (any, error) {
			out := &authorizationv1.SelfSubjectRulesReview{}
			if err := read(sent, out); err != nil {
				return nil, err
			}
			every := []string{"*"}
			out.APIVersion, out.Kind = authorizationv1.SchemeGroupVersion.String(), "SelfSubjectRulesReview"
			out.Status.ResourceRules = []authorizationv1.ResourceRule{{Verbs: every, APIGroups: every, Resources: every}}
			out.Status.NonResourceRules = []authorizationv1.NonResourceRule{{Verbs: every, NonResourceURLs: every}}
			return out, nil
		}},
		{"subjectaccessreviews", "SubjectAccessReview", false, func(sent map[string]any) (any, error) {
			out := &authorizationv1.SubjectAccessReview{}
			return out, answered(sent, out, &out.TypeMeta, &out.Spec.ResourceAttributes, &out.Spec.NonResourceAttributes, &out.Status)
		}},
	}
}

func read(sent map[string]any, into any) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(sent, into); err != nil {
		return apierrors.NewBadRequest("reading the review: " + err.Error())
	}
	return nil
}

// answered reads a review of an access and allows it. The pointers are into the review.
func answered(sent map[string]any, into any, identity *metav1.TypeMeta, resource **authorizationv1.ResourceAttributes, path **authorizationv1.NonResourceAttributes, status *authorizationv1.SubjectAccessReviewStatus) error {
	if err := read(sent, into); err != nil {
		return err
	}
	if (*resource == nil) == (*path == nil) {
		wrong := field.Invalid(field.NewPath("spec"), nil, "exactly one of nonResourceAttributes or resourceAttributes must be specified")
		return apierrors.NewInvalid(authorizationv1.SchemeGroupVersion.WithKind("").GroupKind(), "", field.ErrorList{wrong})
	}
	identity.APIVersion = authorizationv1.SchemeGroupVersion.String()
	*status = authorizationv1.SubjectAccessReviewStatus{Allowed: true}
	return nil
}

// reviewed answers a request for a review, and tells whether it was one.
func reviewed(w http.ResponseWriter, req *http.Request, t target) bool {
	if t.resource.GroupVersion() != authorizationv1.SchemeGroupVersion {
		return false
	}
	for _, r := range reviews() {
		if r.plural != t.resource.Resource || r.namespaced != t.namespaced || t.name != "" {
			continue
		}
		if req.Method != http.MethodPost {
			fail(w, methodNotAllowed())
			return true
		}
		sent, _, err := content(req, r.kind, false)
		var out any
		if err == nil {
			sent["kind"] = r.kind
			out, err = r.answer(sent)
		}
		if err != nil {
			fail(w, err)
		} else {
			respond(w, http.StatusCreated, out)
		}
		return true
	}
	fail(w, unknownResource())
	return true
}

// reviewKinds are the kinds of the reviews, for discovery.
func reviewKinds() []*kind.Kind {
	var out []*kind.Kind
	for _, r := range reviews() {
		gvk := authorizationv1.SchemeGroupVersion.WithKind(r.kind)
		out = append(out, &kind.Kind{
			GroupVersionKind: gvk, Plural: r.plural, Singular: strings.ToLower(r.kind), Namespaced: r.namespaced,
			New: func() runtime.Object {
				object, err := kind.Scheme().New(gvk)
				utilruntime.Must(err) // the scheme has all kinds of the group
				return object
			},
		})
	}
	return out
}
