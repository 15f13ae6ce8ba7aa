//! How far the work is, on stderr: a bar on a terminal, a line for each new thing otherwise.

use super::console::Console;
use crate::event::{Accepted, Event, Phase, Progress};
use crate::show;
use indicatif::{ProgressBar, ProgressStyle};

/// Shows the progress of one request.
pub struct Meter {
    bar: Option<ProgressBar>,
    is_quiet: bool,
    last: String,
}

impl Meter {
    /// A meter that fits the console.
    pub fn new(console: &Console, is_quiet: bool) -> Self {
        let bar = (console.err_is_terminal && !is_quiet).then(|| {
            let colors = if console.color { "{bar:30.cyan/dim}" } else { "{bar:30}" };
            let style =
                ProgressStyle::with_template(&format!("  {{spinner}} {colors} {{pos:>3}} % {{wide_msg}}"));
            let bar = ProgressBar::new(100);
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        Self { bar, is_quiet, last: String::new() }
    }

    /// Shows an event.
    pub fn show(&mut self, event: &Event, console: &mut Console) {
        match event {
            Event::Progress(progress) => self.progress(progress, console),
            Event::Accepted(Accepted { attached: true, .. }) => self.line("already under way", console),
            // The view tells of it.
            Event::Waiting(_)
            | Event::Accepted(_)
            | Event::Output(_)
            | Event::Completed(_)
            | Event::Refused(_)
            | Event::Error(_) => {}
        }
    }

    fn progress(&mut self, progress: &Progress, console: &mut Console) {
        let text = format!("{} {}", phase_word(progress.phase), progress.item);
        let Some(bar) = &self.bar else {
            self.line(text.trim_end(), console);
            return;
        };
        let detail =
            if progress.detail.is_empty() { String::new() } else { format!(": {}", progress.detail) };
        bar.set_message(show::line(&format!("{}{detail}", text.trim_end())));
        bar.set_position(progress.percent.min(100).into());
    }

    /// A line of its own, unless it was the last one too.
    fn line(&mut self, text: &str, console: &mut Console) {
        if self.is_quiet || self.last == text {
            return;
        }
        text.clone_into(&mut self.last);
        match &self.bar {
            Some(bar) => bar.println(format!("  {}", show::line(text))),
            None => console.say(&format!("  {text}")),
        }
    }

    /// Takes the bar away.
    pub fn clear(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn phase_word(phase: Phase) -> &'static str {
    match phase {
        Phase::Waiting => "waiting",
        Phase::Update => "updating",
        Phase::Download => "downloading",
        Phase::Unpack => "unpacking",
        Phase::Configure => "configuring",
        Phase::Run => "running",
        Phase::Validate => "validating",
        Phase::Unspecified => "working",
    }
}
