package registry

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/karpenter-anew/karpenter/embedded/apiserver/store"
)

// ListOptions select what a list or a watch returns.
type ListOptions struct {
	Labels labels.Selector
	Fields fields.Selector
	// Limit is the number of objects at most; 0 is no limit.
	Limit    int64
	Continue string
	// ResourceVersion and Match are those of metav1.ListOptions.
	ResourceVersion string
	Match           metav1.ResourceVersionMatch
}

// token is where a list continues.
type token struct {
	Version  string `json:"v"`
	Revision int64  `json:"rv"`
	After    string `json:"start"`
}

const (
	tokenVersion = "meta.k8s.io/v1"
	// anyRevision in a token continues a list as it is when the token is used.
	anyRevision = -1
)

func (t token) encode() (string, error) {
	raw, err := json.Marshal(t)
	if err != nil {
		return "", fmt.Errorf("encoding a continue token: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(raw), nil
}

// ParseRevision reads a resource version; 0 if it is "".
func ParseRevision(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0, unnamed(fmt.Errorf("resourceVersion: Invalid value: %q: %w", text, err))
	}
	return int64(n), nil //nolint:gosec // parsed with 63 bits
}

// List returns the objects that the options select. The caller must not change them.
func (r *Registry) List(req *Request, options ListOptions) (*unstructured.UnstructuredList, error) {
	k := req.Kind
	if err := k.CheckFields(orAll(options.Fields)); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	from, err := r.start(options)
	if err != nil {
		return nil, err
	}
	objects := r.store.List(k.Resource(), req.Namespace)
	if from.Revision != r.store.Revision() {
		if objects, err = r.store.ListAt(k.Resource(), req.Namespace, from.Revision); err != nil {
			return nil, expired(err, options.Continue != "", from.After)
		}
	}
	out := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": k.GroupVersion().String(), "kind": k.ListKind}}
	out.SetResourceVersion(number(from.Revision))
	selective := options.Labels != nil && !options.Labels.Empty() || options.Fields != nil && !options.Fields.Empty()
	out.Items = []unstructured.Unstructured{}
	more, remaining := false, int64(0)
	var last *unstructured.Unstructured
	for _, object := range objects {
		if from.After != "" && pathOf(object) <= from.After {
			continue
		}
		if options.Limit > 0 && int64(len(out.Items)) == options.Limit {
			more = true // whether it is selected or not
			remaining++
			continue
		}
		if !r.selects(req, options, object) {
			continue
		}
		seen, err := view(k, object)
		if err != nil {
			return nil, err
		}
		out.Items, last = append(out.Items, *seen), object
	}
	if k.New == nil {
		out.SetContinue("") // kube-apiserver shows it for custom resources
	}
	if more {
		next, err := token{tokenVersion, from.Revision, pathOf(last)}.encode()
		if err != nil {
			return nil, apierrors.NewInternalError(err)
		}
		out.SetContinue(next)
		if !selective {
			out.SetRemainingItemCount(&remaining)
		}
	}
	return out, nil
}

// pathOf orders the objects of a kind.
func pathOf(object *unstructured.Unstructured) string {
	return object.GetNamespace() + "/" + object.GetName()
}

func orAll(selector fields.Selector) fields.Selector {
	if selector == nil {
		return fields.Everything()
	}
	return selector
}

// start is the revision of a list, and the object after which it starts.
func (r *Registry) start(options ListOptions) (token, error) {
	now := r.store.Revision()
	if options.Continue != "" {
		if options.ResourceVersion != "" && options.ResourceVersion != "0" {
			return token{}, apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
		}
		raw, err := base64.RawURLEncoding.DecodeString(options.Continue)
		var t token
		if err == nil {
			err = json.Unmarshal(raw, &t)
		}
		if err != nil || t.Version != tokenVersion || t.After == "" {
			return token{}, apierrors.NewBadRequest(fmt.Sprintf("invalid continue token: continue key is not valid: %v", err))
		}
		if t.Revision == anyRevision {
			t.Revision = now
		}
		return t, nil
	}
	revision, err := ParseRevision(options.ResourceVersion)
	if err != nil {
		return token{}, apierrors.NewBadRequest("invalid resource version: " + err.Error())
	}
	switch {
	case revision > now:
		return token{}, tooLarge(revision, now)
	case options.Match == metav1.ResourceVersionMatchExact:
		return token{Revision: revision}, nil
	}
	return token{Revision: now}, nil
}

// tooLarge is the answer to a request for a revision that is not reached.
func tooLarge(revision, now int64) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", revision, now), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
	return err
}

// expired is the answer to a list at a revision that is compacted. For one that continues, it has a token with which the rest can be read as it is now.
func expired(err error, continued bool, after string) error {
	if !errors.Is(err, store.ErrCompacted) {
		return apierrors.NewInternalError(err)
	}
	if !continued {
		return apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
	}
	out := apierrors.NewResourceExpired("The provided continue parameter is too old to display a consistent list result. You can start a new list without " +
		"the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided " +
		"token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned " +
		"and now may show up in the list.")
	if out.ErrStatus.Continue, err = (token{tokenVersion, anyRevision, after}).encode(); err != nil {
		return apierrors.NewInternalError(err)
	}
	return out
}

func (r *Registry) selects(req *Request, options ListOptions, object *unstructured.Unstructured) bool {
	if object == nil || req.Namespace != "" && object.GetNamespace() != req.Namespace || req.Name != "" && object.GetName() != req.Name {
		return false
	}
	if options.Labels != nil && !options.Labels.Matches(labels.Set(object.GetLabels())) {
		return false
	}
	return req.Kind.MatchesFields(object, orAll(options.Fields))
}

// Event is a change as a watch shows it.
type Event struct {
	Type   watch.EventType
	Object *unstructured.Unstructured
}

// Events returns what a watch shows after a revision, and the revision up to which that is. An object that no longer matches the selectors is
// shown as deleted. The error is 410 Gone for revisions that are compacted.
func (r *Registry) Events(req *Request, options ListOptions, after int64) ([]Event, int64, error) {
	changes, err := r.store.Events(after)
	if errors.Is(err, store.ErrFuture) {
		return nil, 0, tooLarge(after, r.store.Revision())
	}
	if err != nil {
		gone := apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", after, r.store.Oldest()))
		gone.ErrStatus.Code = http.StatusGone
		return nil, 0, gone
	}
	var out []Event
	for _, change := range changes {
		if change.Key.Resource != req.Kind.Resource() {
			continue
		}
		was, is := r.selects(req, options, change.Previous), r.selects(req, options, change.Object)
		event := Event{Type: watch.Modified, Object: change.Object}
		switch {
		case !was && !is:
			continue
		case !was:
			event.Type = watch.Added
		case !is:
			event.Type, event.Object = watch.Deleted, store.WithRevision(change.Previous, change.Revision)
		}
		if event.Object, err = view(req.Kind, event.Object); err != nil {
			return nil, 0, err
		}
		out = append(out, event)
	}
	return out, r.store.Revision(), nil
}
