package azure_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	azcloud "github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/cloud/azure/discovery"
	"github.com/karpenter-anew/karpenter/cloud/azure/environment"
	"github.com/karpenter-anew/karpenter/cloud/azure/machineapi"
	"github.com/karpenter-anew/karpenter/cloud/azure/network"
	"github.com/karpenter-anew/karpenter/cloud/azure/session"
	"github.com/karpenter-anew/karpenter/cloud/azure/settings"
	"github.com/karpenter-anew/karpenter/cloud/azure/virtualmachine"
)

const (
	module = "github.com/karpenter-anew/karpenter/"
	sdk    = "github.com/Azure/azure-sdk-for-go/sdk/"
)

// operation is what Azure permits or denies, such as Microsoft.Compute/virtualMachines/read, and the level at which it is asked for.
type operation struct {
	action string
	// inGroup says that the request is for a resource group, and not for the subscription.
	inGroup bool
}

// method is a method of a client of the SDK.
type method struct{ client, name string }

// use is what the code of the provider uses of the SDK.
type use struct {
	// methods are those of clients in session.Session.
	methods map[method]bool
	// pipelines are packages that send requests which no client of the SDK has.
	pipelines map[string]bool
}

// used reads the code of the provider, without tests and the test server: which methods of clients are called, of the clients themselves and
// of the interfaces that they are passed as.
var used = sync.OnceValues(func() (use, error) {
	out := use{map[method]bool{}, map[string]bool{}}
	listed, err := listPackages("./cloud/azure/...")
	if err != nil {
		return out, err
	}
	files := token.NewFileSet()
	compiled := importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(listed[path].Export) })
	of, err := compiled.Import(module + "cloud/azure/session")
	if err != nil {
		return out, err
	}
	clients := clientsOf(of)
	for path, p := range listed {
		if !strings.HasPrefix(path, module+"cloud/azure") || path == module+"cloud/azure/azuretest" {
			continue
		}
		var parsed []*ast.File
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return out, err
			}
			parsed = append(parsed, file)
		}
		info := &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}}
		if _, err := (&types.Config{Importer: compiled}).Check(path, files, parsed, info); err != nil {
			return out, err
		}
		for _, s := range info.Selections {
			if s.Kind() != types.FieldVal {
				out.add(path, s, clients)
			}
		}
	}
	return out, nil
})

// listed is a package as the go command lists it. Export is the file with the types of the compiled package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// listPackages lists packages and all that they import, by path.
func listPackages(pattern string) (map[string]listed, error) {
	command := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", pattern)
	command.Dir = "../.."
	text, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("listing packages: %w", err)
	}
	out := map[string]listed{}
	for decoder := json.NewDecoder(bytes.NewReader(text)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		out[p.ImportPath] = p
	}
}

// clientsOf are the clients of session.Session by the name of their field.
func clientsOf(p *types.Package) map[string]*types.Pointer {
	out := map[string]*types.Pointer{}
	fields := p.Scope().Lookup("Session").Type().Underlying().(*types.Struct)
	for field := range fields.Fields() {
		if pointer, ok := field.Type().(*types.Pointer); ok && strings.HasPrefix(pointer.Elem().String(), sdk+"resourcemanager/") {
			out[field.Name()] = pointer
		}
	}
	return out
}

// add records a use of a method.
func (u use) add(of string, s *types.Selection, clients map[string]*types.Pointer) {
	if strings.HasSuffix(s.Recv().String(), sdk+"azcore/arm.Client") && s.Obj().Name() == "Pipeline" {
		u.pipelines[of] = true
		return
	}
	for field, client := range clients {
		if types.Identical(s.Recv(), client) {
			u.methods[method{field, s.Obj().Name()}] = true
		}
		if of, ok := s.Recv().Underlying().(*types.Interface); ok && of.NumMethods() > 0 && types.Implements(client, of) {
			u.methods[method{field, s.Obj().Name()}] = true
		}
	}
}

// recorder is a transport that records requests and refuses them.
type recorder struct{ requests []*http.Request }

// Do implements policy.Transporter.
func (r *recorder) Do(request *http.Request) (*http.Response, error) {
	r.requests = append(r.requests, request)
	return &http.Response{StatusCode: http.StatusForbidden, Request: request, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"error": {"code": "AuthorizationFailed"}}`))}, nil
}

// credential gives a token that means nothing.
type credential struct{}

// GetToken implements azcore.TokenCredential.
func (credential) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: "token", ExpiresOn: time.Now().Add(time.Hour)}, nil
}

// part stands for each name and ID in requests.
const part = "x"

// open returns clients whose requests are recorded.
func open(t *testing.T) (*session.Session, *recorder) {
	t.Helper()
	r := &recorder{}
	s, err := session.New(credential{}, session.Options{
		Environment: environment.Environment{SubscriptionID: part, Location: part, Configuration: azcloud.AzurePublic}, Settings: &settings.Settings{},
		Version: "1.2.3", Transport: r, Clock: clock.RealClock{},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, r
}

// pipelines sends the requests of packages that use no client of the SDK, by package.
func pipelines() map[string]func(context.Context, *session.Session) error {
	return map[string]func(context.Context, *session.Session) error{
		"discovery": func(ctx context.Context, s *session.Session) error {
			_, err := (&discovery.Shared{Client: s.ResourceManager, Subscription: part, Location: part, APIVersion: part}).Versions(ctx)
			return err
		},
		"machineapi": func(ctx context.Context, s *session.Session) error {
			c := machineapi.New(machineapi.Options{ResourceManager: s.ResourceManager, Subscription: part, ResourceGroup: part, Cluster: part, Pool: part, APIVersion: part})
			_, getErr := c.Get(ctx, part)
			_, listErr := c.List(ctx)
			_, poolErr := c.GetPool(ctx)
			_, createErr := c.BeginCreate(ctx, part, struct{}{})
			_, deleteErr := c.BeginDelete(ctx, part)
			errs := []error{getErr, listErr, poolErr, createErr, deleteErr, c.CreateBatch(ctx, []machineapi.InBatch{{Name: part}}, struct{}{})}
			if slices.Contains(errs, nil) {
				return nil
			}
			return errors.Join(errs...)
		},
	}
}

// performed are the operations of all requests that the provider sends, with an example of each: the real SDK makes them.
func performed(t *testing.T) map[operation]string {
	t.Helper()
	all, err := used()
	if err != nil {
		t.Fatal(err)
	}
	out := map[operation]string{}
	for m := range all.methods {
		s, r := open(t)
		call(t, reflect.ValueOf(s).Elem().FieldByName(m.client).MethodByName(m.name))
		record(t, out, r, m.client+"."+m.name)
	}
	drivers := pipelines()
	for name := range all.pipelines {
		short := strings.TrimPrefix(name, module+"cloud/azure/")
		drive := drivers[short]
		if drive == nil {
			t.Fatalf("package %s sends requests that no client of the SDK has: add how, to the table of pipelines", short)
		}
		s, r := open(t)
		if err := drive(t.Context(), s); err == nil {
			t.Errorf("package %s does not notice that its request is refused", short)
		}
		record(t, out, r, short)
	}
	return out
}

// call calls a method with arguments that mean nothing, and reads the first page if it returns pages.
func call(t *testing.T, m reflect.Value) {
	t.Helper()
	var in []reflect.Value
	for i := range m.Type().NumIn() {
		switch of := m.Type().In(i); {
		case of == reflect.TypeFor[context.Context]():
			in = append(in, reflect.ValueOf(t.Context()))
		case of.Kind() == reflect.String:
			in = append(in, reflect.ValueOf(part).Convert(of))
		default:
			in = append(in, reflect.Zero(of))
		}
	}
	out := m.Call(in)
	if page := out[0].MethodByName("NextPage"); page.IsValid() {
		page.Call([]reflect.Value{reflect.ValueOf(t.Context())})
	}
}

// record adds the operations of recorded requests.
func record(t *testing.T, to map[operation]string, r *recorder, by string) {
	t.Helper()
	if len(r.requests) == 0 {
		t.Errorf("%s sends no request", by)
	}
	for _, request := range r.requests {
		o, err := operationOf(request)
		if err != nil {
			t.Errorf("%s: %v", by, err)
		}
		to[o] = by
	}
}

// operationOf is the operation that a request needs: the type in its path, and what its method does.
func operationOf(r *http.Request) (operation, error) {
	path, inGroup := strings.CutPrefix(r.URL.Path, "/subscriptions/"+part+"/resourceGroups/"+part)
	path = strings.TrimPrefix(path, "/subscriptions/"+part)
	path, found := strings.CutPrefix(path, "/providers/")
	if !found {
		return operation{}, fmt.Errorf("%s is about no resource", r.URL.Path)
	}
	parts := slices.DeleteFunc(strings.Split(path, "/"), func(p string) bool { return p == part })
	verb := map[string]string{
		http.MethodGet: "read", http.MethodPut: "write", http.MethodPatch: "write", http.MethodDelete: "delete", http.MethodPost: "action",
	}[r.Method]
	return operation{strings.Join(append(parts, verb), "/"), inGroup}, nil
}

// linked are the operations on resources that others refer to, by type: Azure asks for them when a request that refers to the resource is
// sent. Images of shared galleries are in another tenant, and have another token.
func linked(t *testing.T) map[operation]string {
	t.Helper()
	actions := map[string]string{
		"Microsoft.Network/virtualNetworks/subnets": "join/action", "Microsoft.Network/networkSecurityGroups": "join/action",
		"Microsoft.Network/loadBalancers/backendAddressPools": "join/action", "Microsoft.Network/networkInterfaces": "join/action",
		"Microsoft.ManagedIdentity/userAssignedIdentities": "assign/action", "Microsoft.Compute/diskEncryptionSets": "read",
	}
	id := func(kind string) string {
		return "/subscriptions/" + part + "/resourceGroups/" + part + "/providers/" + kind
	}
	vm, err := virtualmachine.Body(&v1beta1.AKSNodeClass{}, &virtualmachine.Spec{
		Zone: "0", Identities: []string{id("Microsoft.ManagedIdentity/userAssignedIdentities/x")}, DiskEncryptionSet: id("Microsoft.Compute/diskEncryptionSets/x"),
		NetworkInterface: id("Microsoft.Network/networkInterfaces/x"), Image: virtualmachine.Image{ID: "/CommunityGalleries/x/images/x/versions/x", Community: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	nic := network.InterfaceBody(&network.InterfaceSpec{Attachment: network.Attachment{
		SubnetID: id("Microsoft.Network/virtualNetworks/x/subnets/x"), SecurityGroupID: id("Microsoft.Network/networkSecurityGroups/x"),
		Pools: network.Pools{IDs: []string{id("Microsoft.Network/loadBalancers/x/backendAddressPools/x")}},
	}})
	out := map[operation]string{}
	for name, body := range map[string]any{"virtual machine": vm, "network interface": nic} {
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`"/subscriptions/[^"]*/providers/([^"]*)"`).FindAllStringSubmatch(string(text), -1) {
			kind := strings.Join(slices.DeleteFunc(strings.Split(found[1], "/"), func(p string) bool { return p == part }), "/")
			if actions[kind] == "" {
				t.Errorf("the body of a %s refers to %s: which operation does Azure ask for?", name, kind)
			}
			out[operation{kind + "/" + actions[kind], true}] = "the body of a " + name
		}
	}
	if len(out) != len(actions) {
		t.Errorf("the bodies refer to %v, want %d types", out, len(actions))
	}
	return out
}
