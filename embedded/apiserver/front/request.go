package front

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	listvalidation "k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-anew/karpenter/embedded/apiserver/kind"
	"github.com/karpenter-anew/karpenter/embedded/apiserver/registry"
)

// maxBody is the largest request body, in bytes, as in kube-apiserver.
const maxBody = 3 << 20

// target is the object or the collection that a path names.
type target struct {
	resource                     schema.GroupVersionResource
	namespace, name, subresource string
	namespaced                   bool
	// watch: the path asks for a watch, as watch/… does.
	watch bool
	kind  *kind.Kind
}

// parse reads a path of the form api/v1/… or apis/group/version/…, split at the slashes.
func parse(parts []string) (target, bool) {
	var t target
	if parts[0] == "api" {
		t.resource.Version, parts = parts[1], parts[2:]
	} else {
		t.resource.Group, t.resource.Version, parts = parts[1], parts[2], parts[3:]
	}
	if parts[0] == "watch" && len(parts) > 1 {
		t.watch, parts = true, parts[1:]
	}
	// namespaces/NAME/status is about the namespace, namespaces/NAME/pods about what is in it.
	if parts[0] == "namespaces" && len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
		t.namespaced, t.namespace, parts = true, parts[1], parts[2:]
	}
	t.resource.Resource = parts[0]
	if len(parts) > 1 {
		t.name = parts[1]
	}
	if len(parts) > 2 {
		t.subresource = parts[2]
	}
	return t, len(parts) <= 3
}

// manager is the field manager of a request: the one that it names, or the program that sent it.
func manager(req *http.Request) string {
	if name := req.URL.Query().Get("fieldManager"); name != "" {
		return name
	}
	name, _, _ := strings.Cut(req.UserAgent(), "/")
	return name[:min(len(name), 128)]
}

// request builds what the registry is asked.
func (t target) request(req *http.Request) (*registry.Request, error) {
	query := req.URL.Query()
	out := &registry.Request{
		Kind: t.kind, Namespace: t.namespace, Name: t.name, Subresource: t.subresource, Manager: manager(req),
		FieldValidation: query.Get("fieldValidation"),
	}
	if err := checkOptions(req); err != nil {
		return nil, err
	}
	out.DryRun = req.Method != http.MethodDelete && len(query["dryRun"]) > 0
	if out.FieldValidation == "" {
		out.FieldValidation = metav1.FieldValidationWarn
	}
	out.Force = flag(query, "force")
	return out, nil
}

// checkOptions checks the options of a write that are in the query.
func checkOptions(req *http.Request) error {
	query := req.URL.Query()
	dryRun, manager, fields := query["dryRun"], query.Get("fieldManager"), query.Get("fieldValidation")
	var errs field.ErrorList
	var name string
	switch req.Method {
	case http.MethodPost:
		name, errs = "CreateOptions", metav1validation.ValidateCreateOptions(&metav1.CreateOptions{DryRun: dryRun, FieldManager: manager, FieldValidation: fields})
	case http.MethodPut:
		name, errs = "UpdateOptions", metav1validation.ValidateUpdateOptions(&metav1.UpdateOptions{DryRun: dryRun, FieldManager: manager, FieldValidation: fields})
	case http.MethodPatch:
		// The manager and force are checked with the type of the patch.
		name, errs = "PatchOptions", metav1validation.ValidatePatchOptions(&metav1.PatchOptions{DryRun: dryRun, FieldManager: manager, FieldValidation: fields}, types.MergePatchType)
	}
	if len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: name}, "", errs)
	}
	return nil
}

// flag reads a boolean as kube-apiserver does: everything is true but "false" and "0".
func flag(query url.Values, name string) bool {
	value := query.Get(name)
	return query.Has(name) && !strings.EqualFold(value, "false") && value != "0"
}

// integer reads a number, 0 if there is none.
func integer(query url.Values, name string) (int64, error) {
	text := query.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("strconv.ParseInt: parsing %q: %v", text, errors.Unwrap(err)))
	}
	return n, nil
}

func list(req *http.Request) (registry.ListOptions, error) {
	query := req.URL.Query()
	out := registry.ListOptions{
		Continue: query.Get("continue"), ResourceVersion: query.Get("resourceVersion"),
		Match: metav1.ResourceVersionMatch(query.Get("resourceVersionMatch")),
	}
	var err error
	if out.Labels, err = labels.Parse(query.Get("labelSelector")); err != nil {
		return out, apierrors.NewBadRequest(err.Error())
	}
	if out.Fields, err = fields.ParseSelector(query.Get("fieldSelector")); err != nil {
		return out, apierrors.NewBadRequest(err.Error())
	}
	if out.Limit, err = integer(query, "limit"); err != nil {
		return out, err
	}
	options := &metainternalversion.ListOptions{
		Watch: flag(query, "watch"), Continue: out.Continue, ResourceVersion: out.ResourceVersion, ResourceVersionMatch: out.Match,
	}
	if query.Has("sendInitialEvents") {
		send := flag(query, "sendInitialEvents")
		options.SendInitialEvents = &send
	}
	metainternalversion.SetListOptionsDefaults(options, true)
	if errs := listvalidation.ValidateListOptions(options, true); len(errs) > 0 {
		return out, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", errs)
	}
	return out, nil
}

// body reads the body of a request; nil if it has none.
func body(req *http.Request) ([]byte, error) {
	raw, err := io.ReadAll(http.MaxBytesReader(nil, req.Body, maxBody))
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxBody))
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("reading the body: %v", err))
	}
	return raw, nil
}

// content reads an object from the body. Duplicate fields are returned as problems of field validation. kind is that of the request, for errors;
// it may be "". identified tells that the object must say what it is.
func content(req *http.Request, kind string, identified bool) (map[string]any, []string, error) {
	raw, err := body(req)
	if err != nil {
		return nil, nil, err
	}
	sent := raw
	unreadable := func(err error) error {
		if kind == "" {
			return apierrors.NewBadRequest(err.Error())
		}
		return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)", kind, err, summary(sent)))
	}
	switch kind, _ := mediaType(req.Header.Get("Content-Type")); kind {
	case "", jsonType, "*/*":
	case "application/yaml":
		if raw, err = yaml.YAMLToJSON(raw); err != nil {
			return nil, nil, unreadable(err)
		}
	case "application/vnd.kubernetes.protobuf":
		out, err := fromProtobuf(raw)
		return out, nil, err
	default:
		return nil, nil, &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusUnsupportedMediaType, Reason: metav1.StatusReasonUnsupportedMediaType,
			Message: "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf",
		}}
	}
	var identity struct {
		APIVersion string `json:"apiVersion,omitempty"`
		Kind       string `json:"kind,omitempty"`
	}
	if err := json.Unmarshal(raw, &identity); err != nil {
		return nil, nil, unreadable(fmt.Errorf("couldn't get version/kind; json parse error: %w", err))
	}
	if identified && identity.Kind == "" {
		return nil, nil, unreadable(fmt.Errorf("Object 'Kind' is missing in '%s'", raw))
	}
	out := map[string]any{}
	strict, err := kjson.UnmarshalStrict(raw, &out, kjson.DisallowDuplicateFields)
	if err != nil {
		return nil, nil, unreadable(err)
	}
	if out == nil {
		out = map[string]any{} // the body is null
	}
	var duplicates []string
	for _, problem := range strict {
		duplicates = append(duplicates, problem.Error())
	}
	return out, duplicates, nil
}

// summary is the start of a body, as text if it may be JSON.
func summary(raw []byte) string {
	const most = 30
	show := func(b []byte) string { return hex.EncodeToString(b) }
	switch {
	case len(raw) == 0:
		return "<empty>"
	case raw[0] == '{':
		show = func(b []byte) string { return string(b) }
	}
	if len(raw) > most {
		return show(raw[:most]) + " ..."
	}
	return show(raw)
}

// fromProtobuf reads an object of a built-in kind.
func fromProtobuf(raw []byte) (map[string]any, error) {
	scheme := kind.Scheme()
	object, gvk, err := protobuf.NewSerializer(scheme, scheme).Decode(raw, nil, nil)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("reading protobuf: %v", err))
	}
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("reading protobuf: %v", err))
	}
	out["apiVersion"], out["kind"] = gvk.GroupVersion().String(), gvk.Kind
	return out, nil
}
