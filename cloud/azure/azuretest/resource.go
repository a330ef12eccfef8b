package azuretest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// resource is a resource as ARM shows it.
type resource struct {
	id string
	// body is the JSON object without id, name and type.
	body map[string]any
	etag string
	// created is when it was created; visible is when Resource Graph knows.
	created, visible time.Time
	// owner has the ID of the virtual machine that uses a network interface; reservedFor and reservedUntil keep one for a virtual machine.
	owner, reservedFor string
	reservedUntil      time.Time
	// failed resources were never provisioned; failure is why, where Azure says it later.
	failed  bool
	failure *Refusal
	// customData and address are those of a virtual machine.
	customData, address string
	// pending is the operation that creates an AKSMachine, pendingID is its ID.
	pending   *operation
	pendingID string
}

// idIn is the ID of a resource in a resource group.
func idIn(group, kind, name string) string {
	return "/subscriptions/" + Subscription + "/resourceGroups/" + group + "/providers/" + kind + "/" + name
}

// kindOf is the type of a resource, from its ID.
func kindOf(id string) string {
	_, rest, _ := strings.Cut(id, "/providers/")
	parts := strings.Split(rest, "/")
	kind := parts[0]
	for i := 1; i < len(parts); i += 2 {
		kind += "/" + parts[i]
	}
	return kind
}

// nameOf is the last part of an ID.
func nameOf(id string) string { return id[strings.LastIndex(id, "/")+1:] }

// groupOf is the resource group of an ID.
func groupOf(id string) string {
	parts := strings.Split(id, "/")
	if len(parts) < 5 {
		return ""
	}
	return parts[4]
}

// get is a resource; nil if there is none. The account is locked.
func (a *Account) get(id string) *resource { return a.resources[strings.ToLower(id)] }

// set creates or replaces a resource. The account is locked.
func (a *Account) set(id string, body map[string]any) *resource {
	now := a.clock.Now()
	r := a.get(id)
	if r == nil {
		r = &resource{id: id, created: now, visible: now.Add(a.trouble.graphLag)}
		a.resources[strings.ToLower(id)] = r
	}
	r.body, r.etag = body, fmt.Sprintf(`W/"%d"`, a.next())
	return r
}

// show is a resource as ARM shows it.
func (r *resource) show() map[string]any {
	out := map[string]any{}
	for name, value := range r.body {
		out[name] = value
	}
	out["id"], out["name"], out["type"], out["etag"] = r.id, nameOf(r.id), kindOf(r.id), r.etag
	return out
}

// answer shows a resource with its ETag as a header.
func (r *resource) answer(status int) *response {
	header := http.Header{}
	header.Set("ETag", r.etag)
	return &response{status: status, header: header, body: r.show()}
}

// properties are those of a resource, which may be changed.
func (r *resource) properties() map[string]any {
	out, found := r.body["properties"].(map[string]any)
	if !found {
		out = map[string]any{}
		r.body["properties"] = out
	}
	return out
}

// at is the value at a path of a JSON object; nil if there is none.
func at(object map[string]any, path ...string) any {
	var value any = object
	for _, name := range path {
		inner, found := value.(map[string]any)
		if !found {
			return nil
		}
		value = inner[name]
	}
	return value
}

// textAt is the text at a path of a JSON object; empty if there is none.
func textAt(object map[string]any, path ...string) string {
	text, _ := at(object, path...).(string)
	return text
}

// getResource serves GET of the resource with the ID of the path.
func getResource(a *Account, r *request) (*response, error) {
	found := a.get(r.http.URL.Path)
	if found == nil {
		return nil, notFound(r.http.URL.Path)
	}
	return found.answer(http.StatusOK), nil
}

// notFound is the error for a resource that does not exist.
func notFound(id string) error {
	return refuse(http.StatusNotFound, "ResourceNotFound",
		"The Resource '%s/%s' under resource group '%s' was not found. For more details please go to https://aka.ms/ARMResourceNotFoundFix", kindOf(id), nameOf(id), groupOf(id))
}

// matches checks If-Match and If-None-Match against the resource, which may be nil.
func matches(r *http.Request, found *resource) error {
	want, unwanted := r.Header.Get("If-Match"), r.Header.Get("If-None-Match")
	if want != "" && (found == nil || want != "*" && want != found.etag) || unwanted == "*" && found != nil {
		return refuse(http.StatusPreconditionFailed, "PreconditionFailed", "The condition of the ETag is not met.")
	}
	return nil
}

// decode reads a body and refuses fields that the type into, of the SDK, does not have. The SDK ignores them, and null.
func decode(body []byte, into any) (map[string]any, error) {
	var tree map[string]any
	if err := json.Unmarshal(body, &tree); err != nil {
		return nil, refuse(http.StatusBadRequest, "InvalidRequestContent", "The request content was invalid and could not be deserialized: '%v'.", err)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return nil, refuse(http.StatusBadRequest, "InvalidRequestContent", "The request content was invalid and could not be deserialized: '%v'.", err)
	}
	text, err := json.Marshal(into)
	if err != nil {
		return nil, fmt.Errorf("encoding what was read: %w", err)
	}
	var known map[string]any
	if err := json.Unmarshal(text, &known); err != nil {
		return nil, fmt.Errorf("decoding what was read: %w", err)
	}
	if path := unknown(tree, known, ""); path != "" {
		return nil, unknownMember(path)
	}
	return tree, nil
}

// unknownMember is the error for a field that the type does not have.
func unknownMember(path string) error {
	return refuse(http.StatusBadRequest, "InvalidRequestContent",
		"The request content was invalid and could not be deserialized: 'Could not find member '%s' on object of type 'ResourceDefinition'. Path '%s'.'",
		path[strings.LastIndex(path, ".")+1:], path)
}

// unknown is the path of a field that known does not have; empty if there is none.
func unknown(sent, known any, path string) string {
	switch value := sent.(type) {
	case map[string]any:
		have, _ := known.(map[string]any)
		for name, inner := range value {
			there := strings.TrimPrefix(path+"."+name, ".")
			if _, found := have[name]; !found && inner != nil {
				return there
			}
			if at := unknown(inner, have[name], there); at != "" {
				return at
			}
		}
	case []any:
		have, _ := known.([]any)
		for i, inner := range value {
			if i >= len(have) {
				return path
			}
			if at := unknown(inner, have[i], path); at != "" {
				return at
			}
		}
	}
	return ""
}

// copied is a deep copy of a JSON value: changes of its objects and lists do not reach the original.
func copied(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for name, inner := range value {
			out[name] = copied(inner)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, inner := range value {
			out[i] = copied(inner)
		}
		return out
	case []map[string]any:
		out := make([]any, len(value)) // as it is decoded
		for i, inner := range value {
			out[i] = copied(inner)
		}
		return out
	default:
		return value
	}
}
