package main

import (
	"bytes"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// materials writes the bill of materials, in CycloneDX's JSON: the modules that Go has recorded in the
// programs.
func materials(r *release, out string) error {
	name := "recourse_" + strings.TrimPrefix(r.version, "v") + "_sbom.cdx.json"
	bom := cdx.NewBOM()
	info := r.programs[0].info
	own := component(&debug.Module{Path: info.Main.Path, Version: r.version})
	own.Type = cdx.ComponentTypeApplication
	own.Licenses = &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}}
	bom.Metadata = &cdx.Metadata{Timestamp: r.modified.Format(time.RFC3339), Component: &own}
	parts := []cdx.Component{component(&debug.Module{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")})}
	needs := []string{parts[0].BOMRef}
	for _, m := range r.modules() {
		c := component(m)
		parts, needs = append(parts, c), append(needs, c.BOMRef)
	}
	bom.Components = &parts
	bom.Dependencies = &[]cdx.Dependency{{Ref: own.BOMRef, Dependencies: &needs}}
	var body bytes.Buffer
	encoder := cdx.NewBOMEncoder(&body, cdx.BOMFileFormatJSON)
	encoder.SetPretty(true)
	if err := encoder.Encode(bom); err != nil {
		return err
	}
	return save(out, name, body.Bytes())
}

// modules returns the modules of all programs, sorted by path.
func (r *release) modules() []*debug.Module {
	all := map[string]*debug.Module{}
	for _, p := range r.programs {
		for _, m := range p.info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			all[m.Path] = m
		}
	}
	return slices.SortedFunc(maps.Values(all), func(a, b *debug.Module) int { return strings.Compare(a.Path, b.Path) })
}

func component(m *debug.Module) cdx.Component {
	purl := "pkg:golang/" + m.Path + "@" + strings.ReplaceAll(m.Version, "+", "%2B")
	return cdx.Component{Type: cdx.ComponentTypeLibrary, BOMRef: purl, Name: m.Path, Version: m.Version, PackageURL: purl}
}
