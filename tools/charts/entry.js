// What reports use of Apache ECharts, and nothing else.
import * as core from "echarts/core";
import { BarChart, CustomChart, LineChart, ScatterChart } from "echarts/charts";
import {
  AriaComponent,
  DataZoomComponent,
  GridComponent,
  LegendComponent,
  MarkAreaComponent,
  MarkLineComponent,
  TooltipComponent,
} from "echarts/components";
import { CanvasRenderer } from "echarts/renderers";

core.use([
  AriaComponent, BarChart, CanvasRenderer, CustomChart, DataZoomComponent, GridComponent,
  LegendComponent, LineChart, MarkAreaComponent, MarkLineComponent, ScatterChart, TooltipComponent,
]);

export const { init } = core;
