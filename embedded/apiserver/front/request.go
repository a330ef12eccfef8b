package front

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
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
	kind                         *kind.Kind
}

// parse reads a path of the form api/v1/… or apis/group/version/…, split at the slashes.
func parse(parts []string) (target, bool) {
	var t target
	if parts[0] == "api" {
		t.resource.Version, parts = parts[1], parts[2:]
	} else {
		t.resource.Group, t.resource.Version, parts = parts[1], parts[2], parts[3:]
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
	for _, value := range query["dryRun"] {
		if value != metav1.DryRunAll {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("dryRun: Unsupported value: %q: supported values: \"All\"", value))
		}
		out.DryRun = true
	}
	switch out.FieldValidation {
	case "":
		out.FieldValidation = metav1.FieldValidationWarn
	case metav1.FieldValidationIgnore, metav1.FieldValidationWarn, metav1.FieldValidationStrict:
	default:
		return nil, apierrors.NewBadRequest(fmt.Sprintf("fieldValidation: Unsupported value: %q: supported values: \"Ignore\", \"Warn\", \"Strict\"", out.FieldValidation))
	}
	var err error
	if out.Force, err = flag(query, "force"); err != nil {
		return nil, err
	}
	return out, nil
}

func flag(query url.Values, name string) (bool, error) {
	text := query.Get(name)
	if text == "" {
		return query.Has(name), nil
	}
	value, err := strconv.ParseBool(text)
	if err != nil {
		return false, apierrors.NewBadRequest(fmt.Sprintf("%s: %q is not a boolean", name, text))
	}
	return value, nil
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
	if text := query.Get("limit"); text != "" {
		if out.Limit, err = strconv.ParseInt(text, 10, 64); err != nil || out.Limit < 0 {
			return out, apierrors.NewBadRequest(fmt.Sprintf("limit: %q is not a number of objects", text))
		}
	}
	switch out.Match {
	case "":
	case metav1.ResourceVersionMatchExact, metav1.ResourceVersionMatchNotOlderThan:
		if out.ResourceVersion == "" && query.Get("sendInitialEvents") == "" {
			return out, invalidList(field.Forbidden(field.NewPath("resourceVersionMatch"), "resourceVersionMatch is forbidden unless resourceVersion is provided"))
		}
		if out.Match == metav1.ResourceVersionMatchExact && out.ResourceVersion == "0" {
			return out, invalidList(field.Forbidden(field.NewPath("resourceVersionMatch"), "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""))
		}
	default:
		return out, invalidList(field.NotSupported(field.NewPath("resourceVersionMatch"), out.Match, []metav1.ResourceVersionMatch{metav1.ResourceVersionMatchExact, metav1.ResourceVersionMatchNotOlderThan}))
	}
	return out, nil
}

func invalidList(problems ...*field.Error) error {
	return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", problems)
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

// content reads an object from the body. Duplicate fields are returned as problems of field validation.
func content(req *http.Request) (map[string]any, []string, error) {
	raw, err := body(req)
	if err != nil {
		return nil, nil, err
	}
	switch kind, _ := mediaType(req.Header.Get("Content-Type")); kind {
	case "", jsonType, "*/*":
	case "application/yaml":
		if raw, err = yaml.YAMLToJSON(raw); err != nil {
			return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding YAML: %v", err))
		}
	case "application/vnd.kubernetes.protobuf":
		out, err := fromProtobuf(raw)
		return out, nil, err
	default:
		return nil, nil, problem(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
			"the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf")
	}
	var out map[string]any
	strict, err := kjson.UnmarshalStrict(raw, &out, kjson.DisallowDuplicateFields)
	if err != nil {
		return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("couldn't get version/kind; json parse error: %v", err))
	}
	var duplicates []string
	for _, problem := range strict {
		duplicates = append(duplicates, problem.Error())
	}
	return out, duplicates, nil
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
