package internal_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/karpenter-anew/karpenter/"

// allowedImports is the whole architecture: every package of the module with the packages of the module it may import, lower
// layers first. Test files are not held to it.
//
// A line reads "packages < imports". A trailing /... means the package and everything below it. A name in capitals stands
// for what an earlier line defined.
const allowedImports = `
# layer 0: wire types, importable by anyone
api/quantity <
api/v1 <
api/podrules < api/v1
api/condition <
api/v1 < api/condition
api/kwok/v1alpha1 < api/v1, api/condition
api/aws/v1 < api/v1, api/condition
api/azure/v1beta1 < api/v1, api/condition
api/azure/v1alpha2 < api/azure/v1beta1
api/azure/label < api/v1, api/azure/v1beta1
api/v1alpha1 < api/v1, api/condition
api/autoscaling/v1beta1 <
api/ops/v1alpha1 < api/condition
api/legacy/v1alpha5, api/legacy/v1alpha1 < api/v1, api/condition
api <
api/crds <
api/crds/generator < api/quantity
api/crds/gen < api/crds/generator
api/aws/crds, api/azure/crds, api/kwok/crds < api/crds
api/aws/crds/gen < api/aws/v1, api/crds, api/crds/generator
api/azure/crds/gen < api/azure/label, api/crds, api/crds/generator
api/kwok/crds/gen < api/crds, api/crds/generator
API = api/...

examples <
web <

# layer 1: the engine, standard library only
internal/core/resource, internal/core/requirement, internal/core/bitset, internal/core/lp, internal/core/spelling, internal/core/repair <
internal/core/policy < internal/core/resource
internal/core/topology, internal/core/volume < internal/core/requirement
internal/core/device < internal/core/requirement, internal/core/resource
internal/core/catalog < internal/core/device, internal/core/volume, internal/core/requirement, internal/core/resource
internal/core/unschedulable < internal/core/spelling, internal/core/catalog, internal/core/requirement, internal/core/resource
internal/core/model < internal/core/repair, internal/core/device, internal/core/topology, internal/core/volume, internal/core/catalog, internal/core/unschedulable, internal/core/requirement, internal/core/resource
internal/core/solve/internal/index < internal/core/bitset, internal/core/catalog, internal/core/requirement, internal/core/resource
internal/core/solve/internal/compile < internal/core/bitset, internal/core/device, internal/core/topology, internal/core/volume, internal/core/model, internal/core/catalog, internal/core/unschedulable, internal/core/requirement, internal/core/resource, internal/core/solve/internal/index
internal/core/solve/internal/place < internal/core/bitset, internal/core/device, internal/core/topology, internal/core/volume, internal/core/model, internal/core/catalog, internal/core/unschedulable, internal/core/requirement, internal/core/resource, internal/core/solve/internal/index, internal/core/solve/internal/compile
internal/core/solve/internal/repack < internal/core/bitset, internal/core/lp, internal/core/device, internal/core/requirement, internal/core/resource, internal/core/model, internal/core/solve/internal/index, internal/core/solve/internal/compile, internal/core/solve/internal/place
internal/core/solve/internal/diagnose < internal/core/bitset, internal/core/model, internal/core/unschedulable, internal/core/requirement, internal/core/resource, internal/core/solve/internal/index, internal/core/solve/internal/compile, internal/core/solve/internal/place, internal/core/topology
internal/core/solve < internal/core/bitset, internal/core/device, internal/core/topology, internal/core/volume, internal/core/model, internal/core/catalog, internal/core/unschedulable, internal/core/requirement, internal/core/resource, internal/core/solve/internal/index, internal/core/solve/internal/compile, internal/core/solve/internal/place, internal/core/solve/internal/repack, internal/core/solve/internal/diagnose
internal/core/disrupt < internal/core/policy, internal/core/repair, internal/core/topology, internal/core/model, internal/core/catalog, internal/core/unschedulable, internal/core/requirement, internal/core/resource, internal/core/solve
internal/core/bound < internal/core/lp, internal/core/topology, internal/core/model, internal/core/catalog, internal/core/requirement, internal/core/resource, internal/core/solve
CORE = internal/core/...

# layer 2: the contract with clouds, and how the process is seen and set up
internal/ttlcache <
cloud < API, internal/core/requirement, internal/core/spelling
cloud/cloudtest < API, cloud, internal/core/repair, internal/core/requirement
cloud/plugin < API, cloud, internal/observe, internal/options
cloud/kwok < API, cloud, cloud/plugin, internal/core/requirement, internal/observe, internal/options, internal/observe/logfield
cloud/aws/family < API
cloud/aws/devices < API, cloud
cloud/aws/kubelet < API, cloud/aws/family
cloud/aws/kubeletcel < API, cloud/aws/kubelet
cloud/aws/instancetype < API, cloud, cloud/aws/family, cloud/aws/kubelet, cloud/aws/kubeletcel, cloud/aws/devices
cloud/aws/userdata < API, cloud/aws/family, cloud/aws/kubelet
cloud/aws/image < API, cloud, cloud/aws/family, internal/core/requirement
cloud/aws/drift < API, cloud, cloud/aws/image
cloud/aws/launch < API, cloud, internal/core/requirement
cloud/aws/resourcetags < API
cloud/aws/subnet < API
cloud/aws/awserrors <
cloud/aws/awsfield < internal/observe/logfield
cloud/aws/settings < internal/options
cloud/aws/snapshot < API, cloud/plugin
cloud/aws/batch, cloud/aws/unavailableofferings, cloud/aws/eventbridge, cloud/pricetable <
cloud/aws/price, cloud/azure/price < cloud/pricetable
cloud/aws/telemetry < API, cloud/aws/eventbridge, internal/observe
cloud/aws/session < cloud/aws/awserrors, cloud/aws/telemetry, internal/observe, cloud/aws/awsfield
cloud/aws/reservation <
cloud/aws/discovery < API, cloud/aws/awserrors, cloud/aws/image, internal/ttlcache, cloud/aws/reservation, cloud/aws/subnet, internal/observe, cloud/aws/awsfield, internal/observe/logfield
cloud/aws/inventory < cloud/aws/instancetype, cloud/aws/price, cloud/pricetable, internal/observe, cloud/aws/awsfield, internal/observe/logfield
cloud/aws/template < API, cloud/aws/family, cloud/aws/awserrors, internal/observe, cloud/aws/awsfield
cloud/aws/instance < API, cloud/aws/batch, cloud/aws/awserrors
cloud/aws/instancelookup < API, cloud/aws/instance
cloud/aws/interruption < API, cloud/aws/eventbridge, cloud/aws/reservation, cloud/aws/instancelookup, cloud/aws/unavailableofferings, internal/observe, cloud/aws/telemetry, cloud/aws/awsfield, internal/observe/logfield
cloud/aws/health < API, cloud/aws/awserrors, cloud/aws/eventbridge, cloud/aws/instancelookup, internal/observe, cloud/aws/telemetry, cloud/aws/awsfield, internal/observe/logfield
cloud/aws/fleet < API, cloud/aws/batch, cloud/aws/awserrors, cloud/aws/template
cloud/aws/zonalshift < API, cloud, internal/core/requirement, internal/observe, cloud/aws/telemetry
cloud/aws/controlplane < internal/observe, cloud/aws/awsfield, internal/observe/logfield
cloud/aws/catalog < API, cloud, cloud/aws/discovery, cloud/aws/image, cloud/aws/instance, cloud/aws/instancetype, cloud/aws/inventory, cloud/aws/kubelet, cloud/aws/kubeletcel, cloud/aws/reservation, cloud/aws/subnet, cloud/aws/unavailableofferings, cloud/aws/zonalshift, internal/observe, internal/ttlcache, cloud/aws/awsfield, internal/observe/logfield, cloud/aws/devices
cloud/aws/request < API, cloud, cloud/aws/controlplane, cloud/aws/fleet, cloud/aws/image, cloud/aws/kubelet, cloud/aws/launch, cloud/aws/resourcetags, cloud/aws/subnet, cloud/aws/telemetry, cloud/aws/template, cloud/aws/userdata, internal/observe, cloud/aws/awsfield, internal/observe/logfield, cloud/aws/devices
cloud/aws/launcher < API, cloud, cloud/aws/awserrors, cloud/aws/fleet, cloud/aws/instance, cloud/aws/launch, cloud/aws/request, cloud/aws/reservation, cloud/aws/resourcetags, cloud/aws/subnet, cloud/aws/telemetry, cloud/aws/unavailableofferings, internal/observe, cloud/aws/awsfield, internal/observe/logfield
cloud/aws/provider < API, cloud, cloud/aws/awserrors, cloud/aws/catalog, cloud/aws/controlplane, cloud/aws/drift, cloud/aws/fleet, cloud/aws/instance, cloud/aws/launcher, cloud/aws/request, cloud/aws/telemetry, cloud/aws/template, internal/observe, internal/ttlcache
cloud/aws/offline < API, cloud, cloud/kwok, cloud/aws/kubeletcel, cloud/aws/instancetype, cloud/aws/kubelet, cloud/aws/resourcetags
cloud/aws/profile < API, internal/observe, cloud/aws/awserrors, internal/ttlcache, cloud/aws/resourcetags, cloud/aws/awsfield
cloud/nodeclass < API, internal/observe
cloud/periodictask < internal/observe, internal/observe/logfield
cloud/aws/nodeclass < API, cloud/nodeclass, cloud/aws/awserrors, cloud/aws/catalog, cloud/aws/image, cloud/aws/kubelet, cloud/aws/profile, cloud/aws/request, cloud/aws/resourcetags, cloud/aws/session, cloud/aws/template, internal/observe, internal/ttlcache, cloud/aws/devices
cloud/aws/tagging < API, cloud/aws/instance, cloud/aws/template, internal/observe, internal/observe/logfield
cloud/aws/periodic < API, cloud, cloud/aws/catalog, cloud/aws/discovery, cloud/aws/instance, cloud/aws/profile, cloud/aws/telemetry, internal/observe, cloud/aws/awsfield, internal/observe/logfield
cloud/aws < API, cloud, cloud/aws/catalog, cloud/aws/controlplane, cloud/aws/health, cloud/aws/instancelookup, cloud/aws/instancetype, cloud/aws/interruption, cloud/aws/nodeclass, cloud/aws/offline, cloud/aws/periodic, cloud/aws/profile, cloud/aws/provider, cloud/aws/session, cloud/aws/settings, cloud/aws/snapshot, cloud/aws/tagging, cloud/aws/telemetry, cloud/aws/zonalshift, cloud/periodictask, cloud/plugin, internal/observe, internal/options
cloud/aws/awstest < API, cloud, cloud/kwok, cloud/aws/instancetype, cloud/aws/session
cloud/aws/awstest/ebs < API, cloud/aws/awstest
cloud/cloudtest/kubelet < api/quantity
cloud/cloudtest/nodejoin <
cloud/aws/awstest/firstboot < cloud/cloudtest/kubelet
cloud/aws/awstest/join < cloud/aws/awstest, cloud/aws/awstest/firstboot, cloud/cloudtest/kubelet, cloud/cloudtest/nodejoin
cloud/azure/azuretest <
cloud/azure/azuretest/firstboot < cloud/cloudtest/kubelet
cloud/azure/azuretest/join < cloud/azure/azuretest, cloud/azure/azuretest/firstboot, cloud/cloudtest/kubelet, cloud/cloudtest/nodejoin
cloud/azure/size, cloud/azure/naming, cloud/azure/gpu, cloud/azure/quota, cloud/azure/subnet <
cloud/azure/unavailableofferings, cloud/azure/family, cloud/azure/resourcetags < API
cloud/azure/settings < internal/options
cloud/azure/environment <
cloud/azure/azurefield, cloud/azure/operation <
cloud/azure/session < cloud/azure/environment, cloud/azure/settings, cloud/azure/azurefield, internal/observe, internal/observe/logfield
cloud/azure/sku < cloud/azure/gpu, cloud/azure/size
cloud/azure/zone < API, cloud/azure/sku
cloud/azure/instancetype < API, cloud, cloud/azure/gpu, cloud/azure/sku, cloud/azure/zone
cloud/azure/retail < cloud/azure/price, cloud/azure/session
cloud/azure/offline < API, cloud, cloud/pricetable, cloud/azure/image, cloud/azure/instancetype, cloud/azure/price, cloud/azure/size, cloud/azure/sku
cloud/azure/snapshot < API, cloud/plugin
cloud/azure/network < API, cloud/azure/instancetype, cloud/azure/subnet, internal/ttlcache
cloud/azure/inventory < cloud/azure/price, cloud/azure/sku, internal/observe, internal/observe/logfield
cloud/azure/image < API, cloud, cloud/azure/family
cloud/azure/discovery < API, cloud/azure/family, cloud/azure/image, cloud/azure/session, cloud/azure/subnet, internal/ttlcache
cloud/azure/nodeclass < API, cloud/nodeclass, cloud/azure/discovery, cloud/azure/family, cloud/azure/image, cloud/azure/subnet, internal/observe, internal/observe/logfield
cloud/azure/customdata < API, cloud, cloud/azure/family, cloud/azure/gpu, cloud/azure/instancetype, cloud/azure/sku
cloud/azure/drift < API, cloud, cloud/azure/image
cloud/azure/virtualmachine < API, cloud/azure/zone
cloud/azure/nodeprofile < API
cloud/azure/bootstrapping < API, cloud/azure/family, cloud/azure/gpu, cloud/azure/nodeprofile, cloud/azure/session, cloud/azure/sku
cloud/azure/aksmachine < API, cloud/azure/family, cloud/azure/nodeprofile, cloud/azure/zone
cloud/azure/machinebatch < cloud/azure/aksmachine, cloud/azure/machineapi
cloud/azure/machineapi < cloud/azure/session
cloud/azure/azureerrors < API, cloud, cloud/azure/unavailableofferings
cloud/azure/telemetry < API, internal/observe
cloud/azure/catalog < API, cloud/azure/telemetry, cloud, cloud/azure/choice, cloud/azure/image, cloud/azure/instancetype, cloud/azure/inventory, cloud/azure/quota, cloud/azure/sku, cloud/azure/unavailableofferings, internal/observe, internal/ttlcache
cloud/azure/instance < API, cloud, cloud/azure/azureerrors, cloud/azure/naming, cloud/azure/session, cloud/azure/unavailableofferings, cloud/azure/virtualmachine, cloud/azure/zone, internal/observe, internal/observe/logfield, cloud/azure/resourcetags, cloud/azure/operation
cloud/azure/machineinstance < API, cloud, cloud/azure/aksmachine, cloud/azure/azureerrors, cloud/azure/instance, cloud/azure/machineapi, cloud/azure/machinebatch, cloud/azure/naming, cloud/azure/resourcetags, cloud/azure/operation, cloud/azure/unavailableofferings, cloud/azure/zone, internal/observe, internal/observe/logfield, cloud/azure/environment, cloud/azure/settings
cloud/azure/choice < API, cloud, cloud/azure/azureerrors, cloud/azure/sku, cloud/azure/unavailableofferings, cloud/azure/zone
cloud/azure/request < API, cloud/azure/aksmachine, cloud/azure/bootstrapping, cloud/azure/choice, cloud/azure/customdata, cloud/azure/family, cloud/azure/image, cloud/azure/instancetype, cloud/azure/naming, cloud/azure/network, cloud/azure/resourcetags, cloud/azure/sku, cloud/azure/subnet, cloud/azure/virtualmachine
cloud/azure/inplaceupdate < API, cloud/azure/naming, cloud/azure/resourcetags, internal/observe, internal/observe/logfield
cloud/azure/garbage < API, cloud/azure/instance, internal/observe, internal/observe/logfield
cloud/azure/launcher < API, cloud, cloud/azure/azureerrors, cloud/azure/catalog, cloud/azure/choice, cloud/azure/instance, cloud/azure/naming, cloud/azure/network, cloud/azure/request, cloud/azure/telemetry, cloud/azure/virtualmachine, internal/observe, internal/observe/logfield, cloud/azure/machineinstance, cloud/azure/resourcetags
cloud/azure/provider < API, cloud, cloud/azure/bootstrapping, cloud/azure/catalog, cloud/azure/customdata, cloud/azure/drift, cloud/azure/environment, cloud/azure/instance, cloud/azure/instancetype, cloud/azure/inventory, cloud/azure/launcher, cloud/azure/naming, cloud/azure/network, cloud/azure/quota, cloud/azure/request, cloud/azure/resourcetags, cloud/azure/session, cloud/azure/settings, cloud/azure/telemetry, cloud/azure/unavailableofferings, cloud/azure/zone, internal/observe, internal/observe/logfield, internal/ttlcache, cloud/azure/machineapi, cloud/azure/machinebatch, cloud/azure/machineinstance
cloud/azure < API, cloud, cloud/azure/discovery, cloud/azure/environment, cloud/azure/garbage, cloud/azure/inplaceupdate, cloud/azure/inventory, cloud/azure/network, cloud/azure/nodeclass, cloud/azure/provider, cloud/azure/retail, cloud/azure/session, cloud/azure/settings, cloud/azure/telemetry, cloud/periodictask, cloud/plugin, internal/observe, internal/options, cloud/azure/instancetype, cloud/azure/offline, cloud/azure/snapshot
embedded/apiserver/store, embedded/apiserver/kind <
embedded/apiserver/registry < embedded/apiserver/store, embedded/apiserver/kind
embedded/apiserver/front < embedded/apiserver/registry, embedded/apiserver/kind
embedded/apiserver/conformance <
embedded/view < embedded/apiserver/kind, embedded/apiserver/registry
embedded/kubelet, embedded/workloads < embedded/view
internal/options < api/quantity
internal/observe < API, internal/ttlcache
internal/observe/logfield <
internal/podlatency <
internal/cost < API, cloud
internal/prediction < api/quantity
internal/completion <
internal/document <
internal/leader < internal/observe, internal/observe/logfield
internal/restconfig <
internal/served <
internal/ledger < internal/core/unschedulable
internal/ledger/segment <
internal/ledger/reader < internal/ledger, internal/ledger/segment

# layer 3: between API objects and the engine
internal/translate < API, CORE, cloud, internal/served
internal/manifest < API, internal/prediction
internal/buffer < API, CORE, internal/translate
internal/operations < API, cloud, internal/core/policy, internal/core/requirement, internal/cost
internal/approval < API
internal/notification < API, internal/ledger, internal/observe, internal/observe/logfield, internal/options, internal/ttlcache
internal/overlay, internal/drift < API, cloud, internal/core/requirement
internal/snapshot < API, cloud/plugin, internal/manifest
internal/convert < API, internal/manifest

# layer 4: what is
internal/cluster < API, CORE, cloud, internal/served, internal/translate, internal/observe, internal/cost, internal/observe/logfield
internal/problem < API, CORE, cloud, internal/operations, internal/options, internal/translate, internal/cost, internal/prediction
internal/simulation < API, CORE, cloud, internal/options, internal/served, internal/drift, internal/translate, internal/manifest, internal/overlay, internal/operations, internal/cluster, internal/buffer, internal/problem, internal/prediction
internal/simulation/report < API, CORE, internal/document, internal/simulation
internal/forecast < API, CORE, cloud, internal/drift, internal/problem, internal/simulation
internal/forecast/report < internal/document, internal/forecast, internal/simulation
internal/shadow < API, cloud, internal/cost
internal/forecast/edit < API, cloud, cloud/plugin, internal/drift, internal/forecast, internal/forecast/report, internal/manifest, internal/simulation
internal/explain < API, CORE, cloud, internal/document, internal/translate, internal/simulation, internal/simulation/report, internal/problem
internal/view < API, CORE, cloud, internal/cost, internal/explain, internal/forecast, internal/forecast/report, internal/ledger, internal/simulation, internal/simulation/report

# layer 5: what happens
internal/controller/requeue, internal/controller/ratelimit, internal/controller/singleton, internal/controller/recovery <
internal/controller/parallel < internal/controller/recovery
internal/controller/writegate, internal/controller/readyourwrites < internal/ttlcache
internal/controller/managed < API, cloud
internal/controller/passlog < internal/observe/logfield
internal/controller/create < API, internal/core/policy, internal/ttlcache
internal/controller/bookkeeper < API, cloud, internal/core/model, internal/cost, internal/ledger, internal/observe, internal/observe/logfield, internal/controller/managed
internal/controller/deps < API, cloud, internal/observe, internal/controller/bookkeeper, internal/controller/readyourwrites, internal/controller/writegate, internal/controller/create
internal/controller/nodelookup < API, cloud
internal/controller/fakecluster < API, cloud, internal/observe, internal/controller/create, internal/controller/deps, internal/controller/readyourwrites, internal/controller/nodelookup, test/apiserver
LOOP = internal/ttlcache, internal/controller/requeue, internal/controller/ratelimit, internal/controller/singleton, internal/controller/recovery, internal/controller/parallel, internal/controller/readyourwrites, internal/controller/writegate, internal/controller/managed, internal/controller/create, internal/controller/bookkeeper, internal/controller/deps
CONTROLLERBASE = API, cloud, internal/core/requirement, internal/ledger, internal/observe, internal/observe/logfield, internal/options, internal/controller/nodelookup, LOOP
internal/controller/nodeclaim < CONTROLLERBASE, internal/controller/nomination, internal/drift, internal/problem, internal/translate, internal/core/device
internal/controller/termination < CONTROLLERBASE
internal/controller/reboot < CONTROLLERBASE, internal/controller/termination
internal/controller/repair < CONTROLLERBASE
internal/controller/nodepool < CONTROLLERBASE, internal/cost, internal/core/unschedulable, internal/translate
internal/controller/nomination < CONTROLLERBASE, api/podrules
internal/controller/nodeoverlay < CONTROLLERBASE, internal/overlay
internal/controller/provisioning < CONTROLLERBASE, CORE, internal/cluster, internal/translate, internal/buffer, internal/podlatency, internal/problem, internal/controller/passlog
internal/controller/autoscaler < CONTROLLERBASE, internal/prediction
internal/controller/disruption < CONTROLLERBASE, CORE, internal/cluster, internal/translate, internal/prediction, internal/problem, internal/controller/passlog
internal/controller/static < CONTROLLERBASE, CORE, internal/cluster, internal/translate
internal/controller/deletioncost < CONTROLLERBASE, CORE, internal/cluster, internal/problem
internal/controller/costcap < API, internal/core/policy, cloud, internal/controller/managed, internal/operations
internal/controller/featuregate < CONTROLLERBASE
internal/controller/operationspolicy < CONTROLLERBASE, internal/operations, internal/controller/costcap
internal/controller/metering < CONTROLLERBASE, internal/podlatency, internal/translate
internal/controller/capacitybuffer < CONTROLLERBASE, CORE, internal/cluster, internal/translate, internal/buffer
internal/controller/legacy < CONTROLLERBASE, internal/convert, internal/manifest
CONTROLLERS = internal/controller/...
internal/controller < API, cloud, internal/observe, internal/options, internal/served, internal/translate, internal/prediction, internal/podlatency, internal/cluster, CONTROLLERS

embedded/scheduler < API, cloud, internal/simulation, embedded/view
embedded/controlplane < embedded/apiserver/front, embedded/apiserver/registry, embedded/kubelet, embedded/scheduler, embedded/view, embedded/workloads
internal/demo < API

# layer 6: wiring
internal/console < internal/ledger, internal/ttlcache, web, internal/view
internal/operator/internal/edits < cloud, cloud/plugin, internal/forecast, internal/forecast/edit, internal/forecast/report, internal/manifest, internal/view
internal/operator < internal/operator/internal/edits, internal/console, internal/leader, internal/restconfig, API, cloud, cloud/plugin, internal/observe, internal/options, internal/served, internal/controller, internal/controller/nodelookup, internal/ledger, internal/ledger/segment, internal/observe/logfield, internal/simulation, internal/view, web, internal/approval, internal/notification
internal/command < cloud/plugin, internal/document, internal/options
internal/command/source < API, cloud, cloud/plugin, internal/command, internal/forecast, internal/manifest, internal/observe, internal/options, internal/restconfig, internal/simulation, internal/snapshot
internal/command/explain < internal/command, internal/command/source, internal/core/spelling, internal/document, internal/explain, internal/options
internal/command/simulate < cloud, internal/command, internal/command/source, internal/forecast, internal/forecast/report, internal/manifest, internal/simulation, internal/simulation/report, internal/forecast/edit, internal/snapshot
internal/command/diff < cloud, cloud/plugin, internal/command, internal/command/source, internal/forecast, internal/forecast/report, internal/manifest, internal/simulation, internal/forecast/edit
internal/command/shadow < API, cloud, cloud/plugin, embedded/controlplane, internal/command, internal/command/source, internal/demo, internal/document, internal/shadow
internal/command/top/internal/screen < api/quantity, internal/document, internal/explain, internal/ledger, internal/view
internal/command/views < cloud/plugin, internal/command, internal/command/source, internal/ledger, internal/ledger/reader, internal/simulation
internal/command/console < internal/command, internal/command/source, internal/command/views, internal/console, internal/forecast, internal/forecast/edit, internal/forecast/report, internal/manifest, internal/view, web
internal/command/top < internal/command, internal/command/source, internal/command/views, internal/manifest, internal/options, internal/command/top/internal/screen, internal/view
internal/command/snapshot < API, cloud/plugin, internal/command, internal/command/source, internal/manifest, internal/options, internal/snapshot
internal/command/ledger < internal/command, internal/command/source, internal/document, internal/ledger, internal/ledger/reader, internal/options, internal/ledger/segment
internal/command/plan < API, internal/approval, internal/command, internal/command/source, internal/document
internal/command/convert < API, internal/command, internal/command/source, internal/convert, internal/manifest, internal/options

# layer 7: the binary, the only importer of adapters
cmd/karpenter < API, cloud, cloud/aws, cloud/azure, cloud/kwok, internal/command, internal/command/convert, internal/command/diff, internal/command/explain, internal/command/ledger, internal/command/plan, internal/command/simulate, internal/command/snapshot, internal/completion, internal/demo, internal/document, internal/observe, internal/observe/logfield, internal/operator, internal/options, embedded/controlplane, examples, internal/command/shadow, internal/command/console, internal/command/top

# scenarios and tools beside the product
test/scenario/... < API, CORE, cloud, cloud/kwok, internal/translate, internal/manifest, internal/options, internal/simulation, test/scenario/...
test/e2e/... < API, test/logcapture, cloud, cloud/kwok, internal/translate, internal/manifest, internal/simulation, test/scenario/..., test/e2e/...
test/checklist < test/scenario/scenariofile
test/logcapture <
test/controlplane <
test/apiserver < API
test/docs <
test/generate <
test/crdtest <
test/referencepage <
test/refusingapi < embedded/controlplane
test/poll <
test/process <
test/commandtest < cloud/aws, cloud/azure, cloud/kwok, internal/command
test/awscluster < cloud/aws/awstest, cloud/aws/awstest/ebs, cloud/aws/awstest/join
test/azurecluster < cloud/azure/azuretest, cloud/azure/azuretest/join
test/demo < API, cloud, cloud/kwok, internal/demo, cloud/aws/awstest, cloud/azure/azuretest, test/awscluster, test/azurecluster, test/controlplane, test/process, test/simcluster
test/recording <
test/simcluster < API, internal/approval, test/controlplane
test/chaos < API, cloud, cloud/aws/awstest, test/awscluster, test/controlplane, test/poll, test/process, test/simcluster
test/attacks < API, test/poll, test/process, test/simcluster
test/sim < API, cloud, cloud/kwok, embedded/apiserver/kind, embedded/apiserver/registry, embedded/kubelet, embedded/scheduler, embedded/view, embedded/workloads, internal/controller, internal/controller/nodelookup, internal/controller/parallel, internal/controller/termination, internal/observe, internal/options, internal/leader, internal/served
test/sim/mutants <
test/manager < API, cloud, cloud/kwok, cloud/plugin, embedded/apiserver/front, embedded/apiserver/kind, embedded/apiserver/registry, embedded/kubelet, embedded/scheduler, embedded/view, embedded/workloads, internal/observe, internal/operator, internal/options, test/sim
`

// layerOf is the number of each package's layer, by the headings of allowedImports.
func layerOf() map[string]string {
	out, layer := map[string]string{}, ""
	for line := range strings.Lines(allowedImports) {
		if heading, ok := strings.CutPrefix(line, "# "); ok {
			layer = ""
			if number, ok := strings.CutPrefix(heading, "layer "); ok {
				layer, _, _ = strings.Cut(number, ":")
			}
		}
		packages, _, ok := strings.Cut(line, "<")
		if !ok || layer == "" {
			continue
		}
		for pkg := range strings.SplitSeq(packages, ",") {
			out[strings.TrimSpace(pkg)] = layer
		}
	}
	return out
}

// outsiders are the modules that only some layers may touch.
var outsiders = map[string][]string{
	"internal/core/...":              {},
	"api/...":                        {"k8s.io/", "sigs.k8s.io/yaml", "github.com/mitchellh/hashstructure", "github.com/robfig/cron", "sigs.k8s.io/controller-runtime/pkg/scheme"},
	"cloud":                          {"k8s.io/", "sigs.k8s.io/controller-runtime"},
	"internal/translate":             {"k8s.io/"},
	"internal/options":               {"k8s.io/", "sigs.k8s.io/", "github.com/alecthomas/kong"},
	"internal/controller/disruption": {"k8s.io/", "sigs.k8s.io/controller-runtime", "github.com/google/uuid", "github.com/prometheus/", "golang.org/x/"},
}

func TestImportsOnlyPointDownward(t *testing.T) {
	allowed := parseLattice(t)
	for pkg, imports := range moduleImports(t) {
		if strings.HasSuffix(pkg, "_test") {
			continue
		}
		may, listed := allowed[pkg]
		if !listed {
			for pattern, list := range allowed {
				if matches(pattern, pkg) {
					may, listed = append(may, list...), true
				}
			}
		}
		if !listed {
			t.Errorf("%s is not in allowedImports of internal/arch_test.go: give it a layer", pkg)
			continue
		}
		for _, path := range imports {
			own, ok := strings.CutPrefix(path, module)
			if ok && !slices.ContainsFunc(may, func(pattern string) bool { return matches(pattern, own) }) {
				t.Errorf("%s imports %s, which is not below it", pkg, own)
			}
		}
	}
}

func TestLayersTouchOnlyTheirOutsiders(t *testing.T) {
	for pkg, imports := range moduleImports(t) {
		for pattern, prefixes := range outsiders {
			if !matches(pattern, pkg) {
				continue
			}
			for _, path := range imports {
				standard := !strings.Contains(strings.SplitN(path, "/", 2)[0], ".")
				if standard || strings.HasPrefix(path, module) {
					continue
				}
				if !slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(path, prefix) }) {
					t.Errorf("%s imports %s", pkg, path)
				}
			}
		}
	}
}

func parseLattice(t *testing.T) map[string][]string {
	t.Helper()
	groups, out := map[string][]string{}, map[string][]string{}
	expand := func(list string) []string {
		var names []string
		for _, name := range strings.Split(list, ",") {
			switch name = strings.TrimSpace(name); {
			case name == "":
			case groups[name] != nil:
				names = append(names, groups[name]...)
			default:
				names = append(names, name)
			}
		}
		return names
	}
	for _, line := range strings.Split(allowedImports, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if name, members, ok := strings.Cut(line, "="); ok {
			groups[strings.TrimSpace(name)] = expand(members)
			continue
		}
		packages, imports, ok := strings.Cut(line, "<")
		if !ok {
			t.Fatalf("allowedImports: cannot read %q", line)
		}
		for _, pkg := range expand(packages) {
			out[pkg] = append(out[pkg], expand(imports)...)
		}
	}
	return out
}

func matches(pattern, pkg string) bool {
	if base, ok := strings.CutSuffix(pattern, "/..."); ok {
		return pkg == base || strings.HasPrefix(pkg, base+"/")
	}
	return pattern == pkg
}

// moduleImports is what the non-test files of every package of this module import. Nested modules are other modules.
func moduleImports(t *testing.T) map[string][]string {
	t.Helper()
	seen := map[string]map[string]bool{}
	root := ".."
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			nested, _ := filepath.Glob(filepath.Join(path, "go.mod"))
			if path != root && (len(nested) > 0 || strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || d.Name() == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(rel)
		if seen[pkg] == nil {
			seen[pkg] = map[string]bool{}
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			seen[pkg][imported] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for pkg, imports := range seen {
		out[pkg] = slices.Sorted(maps.Keys(imports))
	}
	return out
}
