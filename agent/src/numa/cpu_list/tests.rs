//! Against the texts of Linux' `lib/test_bitmap.c`, and by properties.

use proptest::prelude::*;

use super::*;

fn cpus(text: &str) -> CpuList {
    text.parse().unwrap()
}

#[test]
fn ranges_and_groups_are_read_as_the_kernel_reads_them() {
    for (text, printed) in [
        ("", ""),
        ("\n", ""),
        ("0", "0"),
        ("0-3,8\n", "0-3,8"),
        ("8,0-3", "0-3,8"),
        ("3-3", "3"),
        ("1,2,3", "1-3"),
        (" 0 , 2 \t4\n", "0,2,4"),
        (",,0,,1,,", "0-1"),
        ("0-15:16/31", "0-15"),
        ("0-31:1/3,1-31:1/3,2-31:1/3", "0-31"),
        ("0-10:2/4", "0-1,4-5,8-9"),
        (
            "0-2047:128/256",
            "0-127,256-383,512-639,768-895,1024-1151,1280-1407,1536-1663,1792-1919",
        ),
        ("1024-2047", "1024-2047"),
        ("65535", "65535"),
        ("007", "7"),
    ] {
        assert_eq!(cpus(text).to_string(), printed, "{text:?}");
    }
}

#[test]
fn what_the_kernel_refuses_is_refused_and_named() {
    for text in [
        "x",
        "-1",
        "1-",
        "-",
        "0-3:",
        "0-3:1",
        "0-3:1/",
        "0-3:/2",
        "0--3",
        "+1",
        "0x1",
        "3:1/2",
        "0-1-2",
        "0-3:1/2/3",
        "١",
    ] {
        let error = text.parse::<CpuList>().unwrap_err();
        assert_eq!(error, ListError::Form(text.into(), "CPU"), "{text:?}");
    }
    for text in ["3-1", "0-3:0/2", "0-3:3/2", "0-3:0/0"] {
        let error = text.parse::<CpuList>().unwrap_err();
        assert_eq!(error, ListError::Range(text.into()), "{text:?}");
    }
    for text in [
        "65536",
        "0-65536",
        "4294967296",
        "99999999999999999999",
        "0-99999999999",
    ] {
        let error = text.parse::<CpuList>().unwrap_err();
        assert_eq!(
            error,
            ListError::Beyond(text.into(), "CPU", 65_535),
            "{text:?}"
        );
    }
    let error = "1024".parse::<NodeList>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "\"1024\" is beyond the highest NUMA node that a kernel can have, 1023"
    );
}

#[test]
fn masks_are_words_of_32_bits_the_highest_first() {
    for (list, mask) in [
        ("", "0"),
        ("0", "1"),
        ("0-3", "f"),
        ("31", "80000000"),
        ("32-33", "3,00000000"),
        ("0,64", "1,00000000,00000001"),
        ("96-127", "ffffffff,00000000,00000000,00000000"),
        ("1024", &format!("1{}", ",00000000".repeat(32))),
    ] {
        assert_eq!(cpus(list).mask(), mask, "{list}");
        assert_eq!(CpuList::from_mask(mask), Ok(cpus(list)), "{mask}");
    }
    // With the zeros in front that the kernel prints.
    assert_eq!(CpuList::from_mask("00000000,0000000f\n"), Ok(cpus("0-3")));
    let zeros = "00000000,".repeat(4096);
    assert_eq!(CpuList::from_mask(&format!("{zeros}1")), Ok(cpus("0")));
    for text in ["", "g", "1,", ",1", "123456789", "0x1", "-1", "1 1"] {
        let error = CpuList::from_mask(text).unwrap_err();
        assert_eq!(error, ListError::Mask(text.into()), "{text:?}");
    }
    let beyond = format!("1{}", ",00000000".repeat(2048));
    assert!(matches!(
        CpuList::from_mask(&beyond),
        Err(ListError::Beyond(_, "CPU", 65_535))
    ));
}

#[test]
fn lists_are_compared_by_what_is_in_them() {
    let (a, b) = (cpus("0-3,1000"), cpus("2-5"));
    assert_eq!(a.union(&b), cpus("0-5,1000"));
    assert_eq!(a.intersection(&b), cpus("2-3"));
    assert_eq!(a.difference(&b), cpus("0-1,1000"));
    assert_eq!(a.difference(&cpus("1000")), cpus("0-3"));
    assert!(cpus("2-3").is_subset(&a) && !b.is_subset(&a) && cpus("").is_subset(&b));
    assert_eq!((a.len(), a.first(), cpus("").first()), (5, Some(0), None));
    assert!(a.contains(1000) && !a.contains(999) && !a.contains(u32::MAX));
    let mut list = CpuList::new();
    assert!(list.insert(7) && !list.insert(7) && !list.insert(65_536));
}

#[test]
fn in_json_it_is_its_text() {
    let list = cpus("0-3,8");
    assert_eq!(serde_json::to_string(&list).unwrap(), "\"0-3,8\"");
    assert_eq!(serde_json::from_str::<CpuList>("\"0-3,8\"").unwrap(), list);
    assert!(serde_json::from_str::<NodeList>("\"1024\"").is_err());
}

proptest! {
    #[test]
    fn every_list_survives_its_texts(numbers in prop::collection::btree_set(0..Cpu::LIMIT, 0..64)) {
        let list: CpuList = numbers.iter().copied().collect();
        prop_assert_eq!(list.iter().collect::<std::collections::BTreeSet<_>>(), numbers);
        prop_assert_eq!(&list.to_string().parse::<CpuList>().unwrap(), &list);
        prop_assert_eq!(&CpuList::from_mask(&list.mask()).unwrap(), &list);
    }

    #[test]
    fn no_text_makes_it_panic(text in "[0-9,:/ -]{0,24}|.*") {
        let _ = text.parse::<CpuList>();
        let _ = NodeList::from_mask(&text);
    }
}
